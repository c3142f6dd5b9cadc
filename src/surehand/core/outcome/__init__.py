"""Evidence to reason to result: the contract that every caller sees.

``evidence`` says what an engine can know, ``decide`` picks the one reason, ``reasons`` says what each reason claims,
``wording`` says it in fixed copy, ``result`` is the shape that leaves.
"""
