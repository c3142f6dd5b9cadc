"""A planner that asks a language model, whoever reaches it.

Laws of this module:

- What the model is shown, and what its answer means, is core's to say; here it is asked.
"""

from collections.abc import Callable

from attrs import field, frozen

from surehand.core.orchestration.goals import GoalAction, History, NoAnswer, Observation
from surehand.core.orchestration.prompt import Prompt, Shown, decision, prompt
from surehand.core.orchestration.task import Task

#: Gives a model's answer to a prompt, or says why there is none.
Complete = Callable[[Prompt], str | NoAnswer]


@frozen
class ModelPlanner:
    """Asks a model that answers a text with a text.

    Args:
        complete: Reaches the model. What it raises ends the task.
        shown: What of a page the model is shown.
    """

    complete: Complete
    shown: Shown = field(default=Shown.NAMES, kw_only=True)

    def decide(self, task: Task, observation: Observation, history: History) -> GoalAction | NoAnswer:
        """What the model decides."""
        asked = prompt(task, observation, history, self.shown)
        if asked is None:
            return NoAnswer.NOT_UNDERSTOOD
        answer = self.complete(asked)
        return answer if isinstance(answer, NoAnswer) else decision(answer, task, self.shown)
