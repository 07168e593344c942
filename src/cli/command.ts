import { Command, Option } from 'commander';
import type { KubeTarget, RunIo } from '../compose/options.ts';
import { type Api, type ApiOptions, connect, withApiOptions } from './api.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type Answer, type OutputFormat, print, type TextOutput } from './output.ts';
import type { Roots } from './roots.ts';

/** The process that a command runs in. */
export interface CliContext {
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  /** Reads standard input to its end; rejects if it is longer than `maxBytes`. */
  readonly readStdin: (maxBytes: number) => Promise<Uint8Array>;
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP. The process handles these signals from the first call on. */
  readonly untilStopped: () => AbortSignal;
  readonly roots: Roots;
  /** Sets the exit code of the process. */
  readonly exit: (code: ExitCode) => void;
}

/** Examples of a command, each with its meaning. */
export type Examples = readonly (readonly [command: string, meaning: string])[];

/** A command whose help ends with examples. */
export class CliCommand extends Command {
  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  examples(lines: Examples): this {
    const shown = lines.flatMap(([command, meaning]) => [`  # ${meaning}`, `  $ ${command}`]);
    return this.addHelpText('after', ['', 'Examples:', ...shown].join('\n'));
  }
}

/** Creates a command that writes to the context, throws instead of exiting, and suggests similar names after an error. */
export function newCommand(name: string, context: CliContext): CliCommand {
  return new CliCommand(name)
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
      outputError: (text, write) => write(text.replace(/^error: /, 'fleetrelay: ')),
    });
}

/** Adds `-o table|json|yaml`, and the action: prints what `run` answers, and exits with its code. */
export function answering<Flags, Words extends readonly unknown[]>(
  context: CliContext,
  command: CliCommand,
  run: (flags: Flags, ...words: Words) => Promise<Answer>,
): CliCommand {
  const output = new Option('-o, --output <format>', 'how to print it').choices(['table', 'json', 'yaml']);
  return command.addOption(output.default('table')).action(async () => {
    const flags = command.opts() as Flags & { readonly output: OutputFormat };
    const answer = await run(flags, ...(command.processedArgs as unknown as Words));
    await print(context.stdout, flags.output, answer);
    context.exit(answer.exitCode ?? EXIT.ok);
  });
}

/** As {@link answering}, for a command that asks the server: adds the options of the API. */
export function asking<Flags, Words extends readonly unknown[]>(
  context: CliContext,
  command: CliCommand,
  run: (api: Api, flags: Flags & ApiOptions, ...words: Words) => Promise<Answer>,
): CliCommand {
  return answering(context, withApiOptions(command), async (flags: Flags & ApiOptions, ...words: Words) =>
    run(await connect(context, flags), flags, ...words),
  );
}

/** Runs a long-running root until it ends or a signal stops the process, and exits with its code. */
export async function runRoot<Options>(
  context: CliContext,
  root: (options: Options, signal: AbortSignal, io: RunIo) => Promise<number>,
  options: Options,
): Promise<void> {
  context.exit((await root(options, context.untilStopped(), runIo(context))) as ExitCode);
}

/** The part of the context that the composition roots need. */
export function runIo({ stdout, stderr, env, cwd, version }: CliContext): RunIo {
  const { colour } = stdout;
  return { out: (text) => stdout.write(text), err: (text) => stderr.write(text), colour, env, cwd, version };
}

/** The cluster that the options name; undefined if none of them is given. */
export function kubeTarget({ kubeconfig, context, namespace }: KubeTarget): KubeTarget | undefined {
  if ((kubeconfig ?? context ?? namespace) === undefined) return undefined;
  return { kubeconfig, context, namespace };
}

/** Adds kubectl's options. `cluster` names the cluster in words, `namespace` is the help for that option. */
export function withKubeOptions(
  command: CliCommand,
  { cluster, namespace }: { readonly cluster: string; readonly namespace: string },
): CliCommand {
  const kubeconfig = `kubeconfig of ${cluster} (default: what kubectl takes, KUBECONFIG or ~/.kube/config)`;
  return command
    .option('--kubeconfig <file>', kubeconfig)
    .option('--context <name>', 'context in it (default: the current one)')
    .option('-n, --namespace <name>', namespace);
}
