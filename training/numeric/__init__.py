"""Training of the small numeric models: `sentiment`, `forecast` and `risk`. Not part of the wheel.

Data flows one way: `packages` reads texts and prices out of downloaded packages, `texts` and
`series` make rows of them, `sentiment`, `forecast` and `risk` train a float model, measure it and
write it as ONNX, and `build` converts the three to integer files. `CARDS.md` describes the models.
"""
