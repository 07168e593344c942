import { Command } from 'commander';
import type { ExitCode } from './exit-codes.ts';
import type { Roots } from './roots.ts';

/** Something that text can be written to; a process stream, or a list of lines in a test. */
export interface TextOutput {
  write(text: string): void;
  /** A person looks at it, and wants colours. */
  readonly colour: boolean;
  /** Width of the terminal in characters; 80 if it is none. */
  readonly columns: number;
}

/** What a command knows of the process that it runs in. */
export interface CliContext {
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  /** Reads standard input to its end; rejects if it is longer than `maxBytes`. */
  readonly readStdin: (maxBytes: number) => Promise<Uint8Array>;
  /** Aborts at the first SIGINT or SIGTERM; asking for it is what makes the process listen. */
  readonly untilStopped: () => AbortSignal;
  /** The composition roots, each loaded when it is called. */
  readonly roots: Roots;
  /** Every command there is, for what is made from them all. */
  readonly allCommands: () => Promise<readonly Command[]>;
  /** Ends the command with this code once it has returned. */
  readonly exit: (code: ExitCode) => void;
}

/** Makes a command that writes to the context, throws instead of exiting, and suggests what might have been meant. */
export function newCommand(name: string, context: CliContext): Command {
  return new Command(name)
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

/** Text at the end of a command's help that shows how it is used. */
export function examples(lines: readonly (readonly [command: string, meaning: string])[]): string {
  return ['', 'Examples:', ...lines.flatMap(([command, meaning]) => [`  # ${meaning}`, `  $ ${command}`])].join('\n');
}
