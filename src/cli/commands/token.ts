import { Option } from 'commander';
import type { TokenRequest } from '../../compose/cluster/token.ts';
import { ENROLMENT_SECONDS } from '../../model/fleet/enrolment.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { suggestion } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import { connect } from '../api.ts';
import { type ApiOptions, withApiOptions } from '../api-options.ts';
import { tokenValidity, wholeNumber } from '../arguments.ts';
import type { CliCommand, ProcessContext } from '../command.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import type { CommandAnswer } from '../output.ts';

interface Flags extends ApiOptions {
  readonly dataDir?: string;
  readonly relaySecretFile?: string;
  readonly generation?: number;
  readonly renew?: true;
  readonly connection?: true;
  readonly validFor?: number;
  readonly singleUse?: true;
}

/** Whose tokens a command prints and renews. */
export interface TokenOwner {
  /** The command that has `token`, such as `cluster`. */
  readonly command: string;
  /** For people. */
  readonly noun: string;
  /** Its token enrols an agent, unless a connection token is asked for. */
  readonly enrols: boolean;
  /** Where the current generation is shown, for where no data directory has it. */
  readonly generationAt: string;
  /** What a renewal does not affect; empty: nothing. */
  readonly unaffected: string;
  /** Whose token is derived. */
  readonly subject: (name: string) => string;
  /** The path of the owner in the API. */
  readonly path: (name: string) => readonly string[];
  /** Makes the token. */
  readonly print: (request: TokenRequest) => Promise<string>;
  /** What the answer says of the owner. */
  readonly view: (name: string) => JsonObject;
}

/** How long a server may take to say which clusters it knows, in seconds. */
const ASKED_SECONDS = 0.5;

/** Warns if a server answers that knows no cluster of the name. The token is computed without one, so all else is no error. */
async function warnIfUnknown(context: ProcessContext, flags: ApiOptions, name: string): Promise<void> {
  const api = await connect(context, flags, ASKED_SECONDS).catch(() => undefined);
  const clusters = await api?.list('clusters').catch(() => undefined);
  if (api === undefined || clusters === undefined || clusters.some((cluster) => cluster.name === name)) return;
  const near = suggestion(
    name,
    clusters.map((cluster) => cluster.name),
  );
  const meant = near === undefined ? '' : `; did you mean ${near}?`;
  const what = `the server at ${api.address} knows no cluster ${name}, and lets its agent in once it is declared${meant}`;
  context.stderr.write(`warning: ${printable(what)}\n`);
}

/** Makes a command with one argument, the name of an owner, print or renew its token. */
export function tokenCommandOf<Name extends string>(
  command: CliCommand,
  context: ProcessContext,
  { command: words, noun, enrols, generationAt, unaffected, subject, path, print, view }: TokenOwner,
): void {
  command
    .option('--data-dir <dir>', 'data directory of the server, which holds its secret and knows of renewals')
    .option('--relay-secret-file <file>', 'the secret, where the server was given one')
    .option(
      '--generation <n>',
      `which token, where no data directory knows of renewals: ${generationAt} (default: the first)`,
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .addOption(new Option('--renew', `make every earlier token of the ${noun} worthless`).conflicts('generation'))
    .option('--as <name>', 'who renews it, for a server without configured people (default: your user name)');
  if (enrols) {
    command
      .addOption(
        new Option('--valid-for <duration>', 'how long the token enrols, from 1m to 720h')
          .argParser(tokenValidity)
          .default(ENROLMENT_SECONDS, '24h'),
      )
      .option('--single-use', 'it enrols one agent; the same agent may ask again for ten minutes')
      .addOption(
        new Option('--connection', 'print the token that opens streams, for a server with relay mode tls').conflicts(
          'singleUse',
        ),
      );
  }
  withApiOptions(command).answers(async (flags: Flags, name: Name): Promise<CommandAnswer> => {
    const { dataDir, relaySecretFile, generation } = flags;
    const hasSecret = dataDir !== undefined || relaySecretFile !== undefined;
    const { connection = false, singleUse = false, validFor = ENROLMENT_SECONDS } = flags;
    const enrolment = enrols && !connection ? { validFor, singleUse } : undefined;
    const tokenOf = (which?: number): Promise<string> => {
      const asked = { subject: subject(name), dataDir, relaySecretFile, enrolment };
      return print({ ...asked, generation: which, cwd: context.cwd });
    };
    if (flags.renew !== true) {
      if (!hasSecret) throw new CliError(EXIT.usage, `${words} token needs either --data-dir or --relay-secret-file`);
      const token = await tokenOf(generation);
      if (enrols) await warnIfUnknown(context, flags, name);
      return { value: { ...view(name), token }, table: (out) => out.write(`${token}\n`) };
    }
    // A secret that cannot be read must be found before the old token is worthless.
    if (hasSecret) await tokenOf(0);
    const asked = [...path(name), 'renew-token'];
    const renewed = await (await connect(context, flags)).act<{ readonly generation: number }>(asked);
    const token = hasSecret ? await tokenOf(renewed.generation) : null;
    return {
      value: { ...renewed, token },
      table: (out) => {
        // The token alone is for a file or a pipe.
        const beside = token === null ? out : context.stderr;
        beside.write(`every earlier token of ${name} is invalid now${unaffected === '' ? '' : `; ${unaffected}`}.\n`);
        out.write(
          token === null
            ? `print the new one where the secret of the server is: fleetrelay ${words} token ${name}${connection ? ' --connection' : ''} --relay-secret-file FILE --generation ${renewed.generation}\n`
            : `${token}\n`,
        );
      },
    };
  });
}
