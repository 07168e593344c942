import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, type ParseOptionsResult } from 'commander';
import type { KubeTarget, RunIo, StopSignals } from '../compose/options.ts';
import type { Api } from './api.ts';
import { type ApiOptions, withApiOptions } from './api-options.ts';
import { oneOf } from './arguments.ts';
import { EXIT, type ExitCode, refuseUsage } from './exit-codes.ts';
import { type CommandAnswer, FORMATS, type Formats, type TextOutput } from './output.ts';

/** The process that a command runs in. */
export interface ProcessContext {
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  /** Reads standard input to its end; rejects if it is longer than `maxBytes`. */
  readonly readStdin: (maxBytes: number) => Promise<Uint8Array>;
  /**
   * Aborts at the first SIGINT, SIGTERM or SIGHUP. The process handles these signals from the first call on. It is ended if it has
   * not ended by itself this many milliseconds after the signal, or at the second signal.
   */
  readonly untilStopped: (endMs: number) => AbortSignal;
  /** As `untilStopped`, for a command that also ends in good order at the second signal. The third one ends the process. */
  readonly stopSignals: (endMs: number) => StopSignals;
  /** Ends the colours of both outputs, for `--no-color`; absent: they have none. */
  readonly withoutColours?: () => void;
  /** Sets the exit code of the process. */
  readonly exit: (code: ExitCode) => void;
}

/** The option of every command that ends the colours of its output. */
export const NO_COLOUR = '--no-color';

/** Examples of a command, each with its meaning. */
export type Examples = readonly (readonly [command: string, meaning: string])[];

/** A command of this program, with the process that it runs in. */
export class CliCommand extends Command {
  readonly context: ProcessContext;
  #takesFileNames = false;

  constructor(name: string | undefined, context: ProcessContext) {
    super(name);
    this.context = context;
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name, this.context);
  }

  /**
   * Other programs append names of files of a repository to the command line. Without `--` before it, an option that is also the
   * name of a file is refused: the author of the repository must not choose options.
   */
  takesFileNames(): this {
    this.#takesFileNames = true;
    return this;
  }

  override parseOptions(words: string[]): ParseOptionsResult {
    if (this.#takesFileNames) refuseFilesAsOptions(words, this.context.cwd);
    return super.parseOptions(this.#takeNoColour(words));
  }

  #takeNoColour(words: string[]): string[] {
    const end = words.indexOf('--');
    const isTaken = (word: string, at: number): boolean => word === NO_COLOUR && (end < 0 || at < end);
    if (words.some(isTaken)) this.context.withoutColours?.();
    return words.filter((word, at) => !isTaken(word, at));
  }

  /** Ends the help with examples. */
  examples(lines: Examples): this {
    const shown = lines.flatMap(([command, meaning]) => [`  # ${meaning}`, `  $ ${command}`]);
    return this.addHelpText('after', ['', 'Examples:', ...shown].join('\n'));
  }

  /** Adds kubectl's options. `cluster` names the cluster in words, `namespace` is the help for that option. */
  kubeOptions({ cluster, namespace }: { readonly cluster: string; readonly namespace: string }): this {
    const kubeconfig = `kubeconfig of ${cluster} (default: what kubectl takes, KUBECONFIG or ~/.kube/config)`;
    return this.option('--kubeconfig <file>', kubeconfig)
      .option('--context <name>', 'context in it (default: the current one)')
      .option('-n, --namespace <name>', namespace);
  }

  /** Adds `-o table|json|yaml`, and the action: prints the answer of `run`, and exits with its code. */
  answers<Flags, Words extends readonly unknown[]>(
    run: (flags: Flags, ...words: Words) => Promise<CommandAnswer>,
  ): this {
    return this.answersIn(FORMATS, run);
  }

  /** As {@link answers}, in formats of its own. */
  answersIn<
    Shown extends { readonly exitCode?: ExitCode; readonly isWritten?: true },
    Flags,
    Words extends readonly unknown[],
  >(formats: Formats<Shown>, run: (flags: Flags, ...words: Words) => Promise<Shown>): this {
    const [first = '', ...others] = Object.keys(formats);
    const output = oneOf('-o, --output <format>', 'how to print it', [first, ...others]);
    return this.addOption(output.default(first)).action(async () => {
      const flags = this.opts() as Flags & { readonly output: string };
      const answer = await run(flags, ...(this.processedArgs as unknown as Words));
      if (answer.isWritten !== true) await formats[flags.output]?.(this.context.stdout, answer);
      this.context.exit(answer.exitCode ?? EXIT.ok);
    });
  }

  /** As {@link answers}, for a command that asks the server: adds the options of the API. */
  asks<Flags, Words extends readonly unknown[]>(
    run: (api: Api, flags: Flags & ApiOptions, ...words: Words) => Promise<CommandAnswer>,
    formats: Formats<CommandAnswer> = FORMATS,
  ): this {
    return withApiOptions(this).answersIn(formats, async (flags: Flags & ApiOptions, ...words: Words) => {
      // Imported here: commands that ask no server do not load what asks one.
      const { connect } = await import('./api.ts');
      return run(await connect(this.context, flags), flags, ...words);
    });
  }
}

/** Creates a command that writes to the context, throws instead of exiting, and suggests similar names after an error. */
export function newCommand(name: string, context: ProcessContext): CliCommand {
  return new CliCommand(name, context)
    .exitOverride()
    .helpCommand(false)
    .allowExcessArguments(false)
    .showSuggestionAfterError(true)
    .helpOption('-h, --help', 'show this help')
    .configureHelp({ sortOptions: false, showGlobalOptions: false })
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      getOutHasColors: () => context.stdout.colour,
      getErrHasColors: () => context.stderr.colour,
      getOutHelpWidth: () => context.stdout.columns,
      getErrHelpWidth: () => context.stderr.columns,
      // `run-command.ts` writes it, in the format that the command line asks for.
      outputError: () => undefined,
    });
}

function refuseFilesAsOptions(words: readonly string[], cwd: string): void {
  const end = words.indexOf('--');
  const options = words.slice(0, end < 0 ? words.length : end).filter((word) => word.startsWith('-') && word !== '-');
  const file = options.find((word) => isFile(resolve(cwd, word)));
  const hint = 'write -- before the paths; in the configuration of pre-commit, args must end with --';
  refuseUsage([[file !== undefined, `${JSON.stringify(file)} is the name of a file and of an option`, hint]]);
}

function isFile(location: string): boolean {
  try {
    return lstatSync(location, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // A name that no file can have.
    return false;
  }
}

/** Time for a process to end, unless more is due: less than the 30 seconds that Kubernetes gives a Pod by default. */
export const END_MS = 25_000;

/**
 * Runs a long-running root until it ends or a signal stops the process, and exits with its code. The process ends at most `endMs`
 * after the signal.
 */
export async function runRoot<Options>(
  context: ProcessContext,
  root: (options: Options, signal: AbortSignal, io: RunIo) => Promise<number>,
  options: Options,
  endMs = END_MS,
): Promise<void> {
  context.exit((await root(options, context.untilStopped(endMs), runIo(context))) as ExitCode);
}

/** The part of the context that the composition roots need. */
export function runIo({ stdout, stderr, env, cwd, version }: ProcessContext): RunIo {
  const { colour } = stdout;
  const { isTerminal } = stderr;
  return {
    out: (text) => stdout.write(text),
    err: (text) => stderr.write(text),
    colour,
    isTerminal,
    env,
    cwd,
    version,
  };
}

/** The cluster that the options name; undefined if none of them is given. */
export function kubeTarget({ kubeconfig, context, namespace }: KubeTarget): KubeTarget | undefined {
  if ((kubeconfig ?? context ?? namespace) === undefined) return undefined;
  return { kubeconfig, context, namespace };
}
