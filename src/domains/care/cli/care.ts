import { type CliCommand, newCommand } from '../../../cli/command.ts';
import type { CommandContext } from '../../../cli/domain-cli.ts';
import { EXIT } from '../../../cli/exit-codes.ts';
import { lazy } from '../../../cli/lazy.ts';
import { type Column, listAnswer, writeDiagnostics } from '../../../cli/output.ts';
import { defaultDecodeLimits } from '../../../manifest/limits.ts';
import { codesOfText, isRetryable, isUserError, LONGEST_SEARCHED_TEXT } from '../model/error-codes.ts';

const judgeWebhooks = lazy(async () => (await import('../compose/webhooks.ts')).judgeWebhooks);

/** `fleetrelay care webhooks` and `fleetrelay care codes`. */
export function careCommand(context: CommandContext, judge = judgeWebhooks): CliCommand {
  const command = newCommand('care', context)
    .summary('the rules of the care of Shoots, for manifests and texts, without a server')
    .description(
      'Applies rules of the care of Shoots to files and to standard input. Needs neither a server nor a cluster.',
    )
    .examples([
      ['fleetrelay care webhooks hooks/', 'which webhooks could keep a cluster from waking up'],
      ['kubectl logs machine-controller-manager-0 | fleetrelay care codes', 'the codes of errors, line by line'],
    ]);
  webhooksCommand(command.command('webhooks'), context, judge);
  codesCommand(command.command('codes'), context);
  return command;
}

interface WebhookRow {
  readonly kind: string;
  readonly name: string;
  readonly webhook: string;
  readonly problematic: boolean;
  readonly changed: boolean;
  readonly at: string;
}

const WEBHOOK_COLUMNS: readonly Column<WebhookRow>[] = [
  { title: 'KIND', text: ({ kind }) => kind },
  { title: 'NAME', text: ({ name }) => name },
  { title: 'WEBHOOK', text: ({ webhook }) => webhook },
  { title: 'PROBLEMATIC', text: ({ problematic }) => (problematic ? 'yes' : 'no') },
  { title: 'REMEDIATOR', text: ({ changed }) => (changed ? 'changed' : 'unchanged'), isState: true },
  { title: 'AT', text: ({ at }) => at },
];

function webhooksCommand(command: CliCommand, context: CommandContext, judge: typeof judgeWebhooks): void {
  command
    .summary('which webhooks could keep nodes from joining or a cluster from waking up')
    .description(
      'Judges each webhook of the ValidatingWebhookConfigurations and MutatingWebhookConfigurations in manifests, and shows each configuration as one run of the webhook remediator leaves it. Files that cannot be read go to stderr, and the exit code is 1.',
    )
    .argument('[path...]', 'files and folders; - is standard input', ['.'])
    .takesFileNames()
    .examples([
      ['fleetrelay care webhooks hooks/', 'a line for each webhook'],
      ['fleetrelay care webhooks - -o json < policy.yaml', 'with the remediated configurations'],
    ])
    .answers(async (_flags: object, paths: readonly string[]) => {
      const { cwd, readStdin } = context;
      const { configurations, diagnostics } = await judge({ paths, cwd, readStdin }, context.roots.findDocuments);
      writeDiagnostics(context.stderr, diagnostics);
      const rows = configurations.flatMap(({ kind, name, webhooks, changed, at }) =>
        webhooks.map((webhook) => ({ ...webhook, webhook: webhook.name, kind, name, changed, at })),
      );
      const answer = listAnswer(WEBHOOK_COLUMNS, rows, 'no webhooks', configurations);
      return { ...answer, exitCode: diagnostics.length > 0 ? EXIT.notWell : EXIT.ok };
    });
}

/** What the text of an error implies. */
interface CodedText {
  /** Without what was cut. */
  readonly text: string;
  readonly codes: readonly string[];
  readonly userError: boolean;
  readonly retryable: boolean;
  /** How many characters at the end of the line were not read; absent if all were. */
  readonly charactersCut?: number;
}

const CODE_COLUMNS: readonly Column<CodedText>[] = [
  { title: 'CODES', text: ({ codes }) => codes.join(', ') || '-' },
  { title: 'USER ERROR', text: ({ userError }) => (userError ? 'yes' : 'no') },
  { title: 'RETRYABLE', text: ({ retryable }) => (retryable ? 'yes' : 'no') },
  {
    title: 'TEXT',
    text: ({ text, charactersCut }) => (charactersCut === undefined ? text : `${text} (${charactersCut} more)`),
  },
];

function codesCommand(command: CliCommand, context: CommandContext): void {
  command
    .summary('the codes that texts of errors imply, line by line of standard input')
    .description(
      `Reads texts of errors from standard input, one a line, and shows Gardener's codes that follow from each: whether people who use the Shoot can mend the error, and whether an operation that failed with it is tried again by itself. Of a line, ${LONGEST_SEARCHED_TEXT} characters are read.`,
    )
    .examples([["echo 'cannot get hosted zones: Throttling' | fleetrelay care codes -o json", 'one text']])
    .answers(async () => {
      const bytes = await context.readStdin(defaultDecodeLimits.maxBytes);
      const rows = linesOf(new TextDecoder().decode(bytes)).map(codedText);
      return listAnswer(CODE_COLUMNS, rows, 'no texts');
    });
}

/** A line end at the end of the text begins no further line. */
function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function codedText(line: string): CodedText {
  const codes = codesOfText(line);
  const text = line.slice(0, LONGEST_SEARCHED_TEXT);
  const charactersCut = line.length - text.length;
  return {
    text,
    codes,
    userError: isUserError(codes),
    retryable: isRetryable(codes),
    ...(charactersCut === 0 ? {} : { charactersCut }),
  };
}
