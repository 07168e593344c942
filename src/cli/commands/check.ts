import type { CheckRequest } from '../../compose/check/checks.ts';
import type { Finding } from '../../compose/check/finding.ts';
import type { KubeTarget } from '../../compose/options.ts';
import { counted } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import { connect } from '../api.ts';
import { type ApiOptions, addressOf, withApiOptions } from '../api-options.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, kubeTarget, newCommand, runIo } from '../command.ts';
import { CliError, EXIT, refuseUsage } from '../exit-codes.ts';
import { styled, type TextOutput, type Tone } from '../output.ts';

interface Flags extends ApiOptions, KubeTarget {
  readonly checkout?: string;
  readonly withoutServer?: true;
}

const AREAS: readonly Finding['area'][] = ['server', 'source', 'cluster', 'repository', 'kubernetes'];

const MARKS: Readonly<Record<Finding['severity'], { readonly mark: string; readonly tone: Tone }>> = {
  ok: { mark: '✔', tone: 'good' },
  warning: { mark: '!', tone: 'warn' },
  error: { mark: '✘', tone: 'bad' },
  unknown: { mark: '?', tone: 'faint' },
};

/** `fleetrelay check`: what is wrong, and what to do; exit code 1 if there is an error. */
export function checkCommand(context: CliContext): CliCommand {
  const command = newCommand('check', context)
    .summary('find what is wrong, and say what to do')
    .description(
      'Looks at the server, its sources and its clusters; at a checkout, if one is named; and at the agent inside a cluster, if one is named. Changes nothing. Exits with 1 if there is an error.',
    )
    .option('--without-server', 'do not ask the server')
    .option('--checkout <dir>', 'look at this checkout as well')
    .examples([
      ['fleetrelay check', 'the server, its sources and its clusters'],
      ['fleetrelay check --context east -n fleetrelay', 'and the agent in the cluster of that context'],
      ['fleetrelay check --without-server --checkout ./fleet', 'only a checkout; no server is asked'],
    ]);
  command.kubeOptions({
    cluster: 'the cluster whose agent is looked at',
    namespace: 'namespace of the agent (default: the one of the context, else fleetrelay)',
  });
  return withApiOptions(command).answers(async (flags: Flags) => {
    const findings = await check(context, flags);
    const count = (wanted: Finding['severity']): number =>
      findings.filter(({ severity }) => severity === wanted).length;
    const [errors, warnings, unknown] = [count('error'), count('warning'), count('unknown')];
    const tone = errors > 0 ? 'bad' : warnings > 0 ? 'warn' : 'good';
    const more = unknown === 0 ? '' : `; ${unknown} could not be looked at`;
    return {
      value: { errors, warnings, unknown, findings },
      table: (out) => {
        writeFindings(out, findings);
        out.write(`${styled(out, tone, `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`)}${more}\n`);
      },
      exitCode: errors > 0 ? EXIT.notWell : EXIT.ok,
    };
  });
}

async function check(context: CliContext, flags: Flags): Promise<readonly Finding[]> {
  const { checkout, withoutServer = false } = flags;
  const kube = kubeTarget(flags);
  const hint = 'name a checkout or a cluster, or leave out --without-server';
  refuseUsage([[withoutServer && checkout === undefined && kube === undefined, 'there is nothing to look at', hint]]);
  const server = withoutServer ? {} : await askServer(context, flags);
  const findings = await context.roots.check({ fleet: server.fleet, checkout, kube }, runIo(context));
  return [...(server.away === undefined ? [] : [server.away]), ...findings];
}

/** What the server reports. One that does not answer is a finding, so that the other areas are looked at all the same. */
async function askServer(
  context: CliContext,
  flags: Flags,
): Promise<{ readonly fleet?: CheckRequest['fleet']; readonly away?: Finding }> {
  const address = addressOf(context, flags);
  try {
    const api = await connect(context, flags);
    const [fleet, outputs] = await Promise.all([api.status(), api.list('outputs')]);
    return { fleet: { fleet, outputs, version: context.version, api: address } };
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode === EXIT.usage) throw error;
    const { message: what, hint: fix } = error;
    const reason = error.exitCode === EXIT.unreachable ? 'ServerUnreachable' : 'ServerRefused';
    return { away: { severity: 'error', area: 'server', reason, where: address, what, fix } };
  }
}

function writeFindings(out: TextOutput, findings: readonly Finding[]): void {
  for (const area of AREAS) {
    const found = findings.filter((finding) => finding.area === area);
    if (found.length === 0) continue;
    out.write(`${styled(out, 'strong', area)}\n`);
    for (const finding of found) writeFinding(out, finding);
    out.write('\n');
  }
}

function writeFinding(out: TextOutput, { severity, reason, where, what, fix }: Finding): void {
  const { mark, tone } = MARKS[severity];
  // A terminal shows marks; a log that is searched has words.
  const shown = out.colour ? styled(out, tone, mark) : severity.padEnd(7);
  const named = severity === 'ok' ? '' : ` [${reason}]`;
  out.write(`  ${shown} ${printable(where)}: ${printable(what)}${styled(out, 'faint', named)}\n`);
  if (fix !== undefined) out.write(`      ${styled(out, 'strong', 'do')}: ${printable(fix)}\n`);
}
