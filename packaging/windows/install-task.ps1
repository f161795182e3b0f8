# Starts the Bridge when you log on, as you: mapped drives and the credential store belong to the user.
#   powershell -ExecutionPolicy Bypass -File install-task.ps1
$command = (Get-Command bridge-agent -ErrorAction SilentlyContinue).Source
if (-not $command) {
    Write-Error "bridge-agent is not on the PATH; install it first: py -m pip install --user audiobook-bridge-agent"
    exit 2
}
$action = New-ScheduledTaskAction -Execute $command -Argument "run"
$trigger = New-ScheduledTaskTrigger -AtLogOn -User $env:USERNAME
$settings = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries `
    -ExecutionTimeLimit ([TimeSpan]::Zero) -RestartCount 3 -RestartInterval (New-TimeSpan -Minutes 1)
Register-ScheduledTask -TaskName "Audiobook Bridge" -Action $action -Trigger $trigger -Settings $settings -Force | Out-Null
Write-Output "The Bridge starts at your next log-on. To start it now: Start-ScheduledTask 'Audiobook Bridge'"
