"""The peer of vecmap.py: runs VecMap's unmodified eval_translation.py and writes its answers.

Run by vecmap.py --peer-python=PYTHON --vecmap=FOLDER; needs numpy and scipy.
"""

import json
import os
import runpy
import sys


def main() -> None:
    """Takes the checkout of VecMap, the file to write, and the arguments of eval_translation.py."""
    folder, path, *arguments = sys.argv[1:]
    seen = {}

    def look(frame, event, _):
        # The program prints only its accuracy; the answers are local variables of its `main`.
        if event == "return" and frame.f_code.co_name == "main" and "translation" in frame.f_locals:
            seen.update(frame.f_locals)

    sys.path.insert(0, folder)
    sys.argv = ["eval_translation.py", *arguments]
    sys.setprofile(look)
    try:
        runpy.run_path(os.path.join(folder, "eval_translation.py"), run_name="__main__")
    finally:
        sys.setprofile(None)
    answers = {
        seen["src_words"][row]: seen["trg_words"][int(column)]
        for row, column in seen["translation"].items()
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(answers, file)


main()
