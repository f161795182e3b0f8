"""The library index: which audiobooks lie below a folder, found by scans and kept in a SQLite file.

From the bottom up: pure rules (`parts`, `loose`, `grouping`, `versions`, `order`, `wholeness`, `names`,
`people`, `metadata`, `chapters`, `covers`, `assembly`), what is read of files (`tags`, `marks`, `quicktime`,
`sidecars`, `cue`), the disk (`walk`, `ignored`, `kinds`), what changed (`changes`, `matching`, `plan`,
`ledger`, `scan`), and what is asked (`catalog`, `media`, `index`).

The rules follow the folder rules of Audiobookshelf, which people's collections are laid out by, and better
them where they hurt. K: kept; B: bettered; –: not ours.

| row | |
|---|---|
| A-01…A-03 | K each file at the root is a book, its name never taken apart |
| A-04 | – ebooks |
| A-05…A-09 | K levels are author, series, title; the last three count |
| A-10 | B distinct long m4b files side by side are books of their own |
| A-11, A-12, A-104 | B a stray file is a book of its own and swallows no shelf |
| A-13…A-15 | K bonus folders join; disc folders make one book |
| A-16…A-19 | B `Part 1`, `Teil 1`, `CD_1`, `Disc 1 of 2`, `Emma CD1` … are parts of one book, sides too |
| A-20, A-21, A-23…A-25 | K discs (B: extras last) |
| A-22, A-34, A-43 | B discs and folders in natural order, also with gaps, the intro first |
| A-26, A-27 | B formats and copies are versions, not more tracks |
| A-28 | K one title of two authors is two books |
| A-29, A-30 | B a file that is empty or closed makes its book incomplete, an odd header is noted |
| A-31 | K extensions |
| A-32 | B folders named after formats are no level; – ebooks |
| A-33, A-35…A-42, A-46, A-48, A-49 | K whichever of tags and names tells more apart, a tie to the tags |
| A-44 | B what opens a book goes first, what closes it last |
| A-45, A-47 | B all numbers of a name count |
| A-50 | K a total order; – changed by hand |
| A-51, A-52, A-54 | K chapters of the file, one a file, or one after another |
| A-53 | B chapters count wherever their file stands |
| A-55, A-56, A-58, A-61, A-64…A-67, A-69, A-71 | K names; a series number is free text |
| A-57 | B labelled numbers of any length |
| A-59 | B a number alone is a title too |
| A-60 | B a title tag counts only where it is the book's; albums named by disc name the book |
| A-62 | K subtitles stay in the title |
| A-63 | – splitting them off, which is a setting there |
| A-68, A-70, A-72 | B people are split only where it is sure; the raw text is kept and searched |
| A-73 | B case, accents and Unicode forms make no second person |
| A-74 | – lists are by title, in natural order |
| A-75, A-76, A-79 | K desc.txt, reader.txt, OPF; an author's picture is no book's |
| A-77 | K metadata.json is read first of all; nothing is written or pinned |
| A-78 | K cover; B natural order, and art inside a file is served from a copy in the data folder |
| A-80…A-83, A-86, A-90, A-92 | K hidden names, `@eaDir`, `.ignore`, downloads; byte-exact paths; links |
| A-84 | B files and sizes count audio alone |
| A-85 | B recycle bins and `lost+found` are passed over |
| A-87, A-89 | B links inside the root are followed, one track a real file; the root is resolved first |
| A-88, A-91 | K links out of the root are not followed; each library has its own books |
| A-93 | – nothing is written into a library |
| A-94, A-95, A-96, A-98, A-99, A-100, A-108 | B a book is known by its content wherever it went |
| A-97 | B never by an inode |
| A-101 | – a library has one root |
| A-102, A-103, A-105, A-106 | K changes of tracks; missing, and back as the same (B: lost tracks are told) |
| A-107 | B an empty or vanished root, or most books at once, marks nothing missing |
| A-109 | – no watcher: scans at the first start, daily and when asked |
"""
