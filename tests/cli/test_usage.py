"""Options, help and wrong use."""
from harness import check, done, methods, refused, run, tiny

COMMANDS = ["run", "chat", "info", "methods", "tokenize", "eval", "bench", "version", "help"]


def test_no_command_shows_the_commands():
    r = run()
    check(r.code == 2 and not r.out, r)
    for command in COMMANDS:
        check(f"  {command} " in r.err, r, command)


def test_overview_lists_all_commands():
    for arg in ("--help", "-h", "help"):
        r = done(arg)
        for command in COMMANDS:
            check(f"  {command} " in r.out, r, command)


def test_every_command_has_help():
    for command in COMMANDS:
        r = done(command, "--help")
        check(r.out.startswith(f"Usage: ingot {command}") and not r.err, r)
        check(done("help", command).out == r.out, r, "help COMMAND is COMMAND --help")
        check(not any(line != line.rstrip() or len(line) > 110 for line in r.out.splitlines()), r, "tidy lines")


def test_help_lists_every_method_and_option():
    rows = methods()
    check(len(rows) >= 3, "methods are few")
    for command in ("run", "chat", "eval"):
        r = done(command, "--help")
        for m in rows:
            check(f"\n  {m['name']} " in r.out, r, m["name"])
            check(all(o in r.out.replace("\n", "").replace(" ", "") for o in m["options"].replace(" ", "").split(",")), r, m["options"])
        for part in methods("transform") + methods("policy"):
            check(f"\n  {part['name']} " in r.out, r, part["name"])


def test_help_needs_nothing_else():
    check(run("run", "-m", "/no/such/file", "--help").code == 0, "help wins")
    check(run("run", "--no-such-option", "-h").code == 0, "help wins over what is unknown")


def test_help_can_be_a_value():
    r = refused(1, "tokenize", "-m", "--help.gguf", "-p", "x", has="--help.gguf")
    check("Usage" not in r.out, r)


def test_version():
    check(done("version").out == done("--version").out, "both spellings")
    check(done("version").out.startswith("ingot "), "names itself")


def test_unknown_command():
    refused(2, "rum", has="unknown command 'rum'")
    refused(2, "help", "rum", has="unknown command 'rum'")


def test_unknown_option_is_named():
    refused(2, "run", "--wibble", has="unknown option --wibble")
    refused(2, "run", "-Q", has="unknown option -Q")
    refused(2, "run", "--temperature", "1", has=["unknown option --temperature", "--temp"])
    refused(2, "info", "-p", "x", has="unknown option -p")


def test_missing_value():
    refused(2, "run", "-m", has="-m needs a value")
    refused(2, "run", "--temp", "--json", has="--temp needs a value")
    refused(2, "run", "-m", "-p", "x", has="-m needs a value")


def test_value_after_equals_sign():
    check(len(done("tokenize", f"--model={tiny()}", "--prompt=-n").out.splitlines()) == 2, "value that looks like an option")
    refused(2, "run", "--json=yes", has="--json takes no value")


def test_bad_numbers():
    for option, bad in [("-n", "ten"), ("-n", "-2"), ("-n", ""), ("-n", "1.5"), ("-n", "99999999999"), ("-c", "-1"), ("-c", "1e3"), ("-t", "-1"),
                        ("-t", "5000"), ("-b", "0"), ("-b", "70000"), ("--temp", "hot"), ("--temp", "-0.1"), ("--temp", "nan"), ("--temp", "inf"),
                        ("--top-p", "1.5"), ("--top-p", "0"), ("--min-p", "-1"), ("--top-k", "-1"), ("--repeat-penalty", "0"),
                        ("-s", "abc"), ("-s", "99999999999999999999"), ("--kv-window", "-5"), ("--kv-window", "many"), ("--kv-sinks", "9999999")]:
        refused(2, "run", "-m", "x", "-p", "x", option, bad, has=f"'{bad}'")


def test_bad_word():
    refused(2, "run", "--activations", "int4", has=["'int4'", "int8|float"])


def test_unexpected_argument():
    refused(2, "run", "model.gguf", has="unexpected argument 'model.gguf'")
    refused(2, "eval", "ppl", "more", has="unexpected argument 'more'")


def test_model_is_required():
    for command in (["run", "-p", "x"], ["chat"], ["tokenize", "-p", "x"], ["eval", "ppl", "-p", "x"]):
        refused(2, *command, has="-m")


def test_eval_needs_a_measure():
    refused(2, "eval", "-m", tiny(), has=["ppl", "kld"])
    refused(2, "eval", "speed", "-m", tiny(), has="'speed'")


def test_messages_stay_one_line():
    refused(1, "run", "-m", "a\nb\x1b[31m", "-p", "x", has="a?b?[31m")
