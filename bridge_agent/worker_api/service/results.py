"""Results: what a worker heard of a part, read by the plan of the book that the part is of."""

from bridge_agent.transcription.model import PartResult
from bridge_agent.transcription.pipeline.pipeline import Pipeline
from bridge_agent.transcription.pipeline.tasks import Task
from bridge_agent.worker_api.service.lease import WorkerId
from bridge_agent.worker_api.service.partial import Partial, to_result


async def of_part(pipeline: Pipeline, task: Task, worker: WorkerId, heard: Partial) -> PartResult:
    """Return a part's result; of a book that is not under way its plan alone is known, not its pauses."""
    offer = pipeline.offers.get(task.recording_id)
    if offer is not None:
        planned, sound = offer.model, offer.sound(task.number)
    else:
        recording = await pipeline.get(task.recording_id)
        plan = None if recording is None else recording.plan
        planned, sound = "" if plan is None else plan.settings.model, []
    return to_result(heard, task.number, task.samples, planned_model=planned, model=worker.model, sound=sound)
