import type { AdoptedObject, AdoptReport, AdoptRequest, AdoptVerdict } from '../../compose/cluster/adopt.ts';
import type { KubeTarget } from '../../compose/options.ts';
import { type ClusterName, type FleetName, parseFleetName } from '../../model/fleet/ids.ts';
import { printable } from '../../model/text/printable.ts';
import { must } from '../../model/values/result.ts';
import { connect } from '../api.ts';
import { type ApiOptions, withApiOptions } from '../api-options.ts';
import { clusterName, fleetName } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, kubeTarget, runIo } from '../command.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { styled, type TextOutput, toneOf } from '../output.ts';

interface Flags extends ApiOptions, KubeTarget {
  readonly checkout?: string;
  readonly fleet?: FleetName;
  readonly dryRun?: true;
}

/** Verdicts that need a person. */
const NEEDS_PERSON: readonly AdoptVerdict[] = ['refused', 'conflict', 'failed'];

/** `fleetrelay cluster adopt NAME --dry-run`. */
export function adoptCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('what a first sync would change in a cluster')
    .description(
      'Asks the API server of a cluster what applying each object would change, in a dry run: created, unchanged, changed (field by field), taken over, or refused because it has another owner. Writes nothing. An object of another owner is taken over only if its manifest in the repository has the annotation fleetrelay.dev/adopt: "true". Exits with 1 if something needs a person.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--dry-run', 'only show what would change (without it, also what is to be written into the repository)')
    .option('--checkout <dir>', 'take the desired state from this checkout instead of the server')
    .option('--fleet <name>', 'name of the fleet, with --checkout', fleetName)
    .examples([
      ['fleetrelay cluster adopt east --dry-run --context east', 'what the first sync of "east" would change'],
      [
        'fleetrelay cluster adopt east --dry-run --context east --checkout ./fleet --fleet shop',
        'the same for a checkout, before it is pushed; no server is asked',
      ],
    ]);
  command.kubeOptions({ cluster: 'the cluster', namespace: 'namespace of the agent' });
  withApiOptions(command).answers(async (flags: Flags, name: ClusterName) => {
    const report = await context.roots.clusterAdopt(await requestOf(context, name, flags), runIo(context));
    return {
      value: report,
      table: (out) => {
        writeReport(out, report);
        if (flags.dryRun === undefined) writeWayOn(out, report);
      },
      exitCode: report.objects.some(({ verdict }) => NEEDS_PERSON.includes(verdict)) ? EXIT.notWell : EXIT.ok,
    };
  });
}

async function requestOf(context: CliContext, cluster: ClusterName, flags: Flags): Promise<AdoptRequest> {
  const { checkout, fleet } = flags;
  const kube = kubeTarget(flags) ?? {};
  if (checkout === undefined) {
    const api = await connect(context, flags);
    const [status, items] = await Promise.all([api.status(), api.list('desired', { cluster })]);
    return { cluster, fleet: must(parseFleetName(status.fleet)), kube, desired: { type: 'server', items } };
  }
  if (fleet === undefined) {
    const hint = 'the name that the server is given with serve --fleet';
    throw new CliError(EXIT.usage, 'adopt needs --fleet beside --checkout', hint);
  }
  return { cluster, fleet, kube, desired: { type: 'checkout', folder: checkout } };
}

function writeReport(out: TextOutput, { cluster, server, objects }: AdoptReport): void {
  for (const object of objects) if (object.verdict !== 'unchanged') writeObject(out, object);
  const counts = [...Map.groupBy(objects, ({ verdict }) => verdict)].map(
    ([verdict, some]) => `${some.length} ${verdict}`,
  );
  const summary = counts.join(', ') || 'nothing should be there';
  out.write(`${printable(cluster)} (${printable(server)}): ${summary}\n`);
}

function writeObject(out: TextOutput, { object, verdict, changes, conflicts, message, files }: AdoptedObject): void {
  const why = message === '' ? '' : `: ${printable(message)}`;
  out.write(`${styled(out, toneOf(verdict), verdict)} ${printable(object)}${why}`);
  out.write(styled(out, 'faint', `  (${printable(files.join(', '))})\n`));
  for (const { field, before, after } of changes) {
    out.write(`    ${printable(field)}: ${shown(before)} -> ${shown(after)}\n`);
  }
  for (const { manager, field } of conflicts) {
    out.write(`    ${styled(out, 'bad', `${printable(field)} is held by ${printable(manager)}`)}\n`);
  }
}

const LONGEST = 200;

function shown(value: unknown): string {
  const text = value === undefined ? '(none)' : JSON.stringify(value);
  return printable(text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text);
}

function writeWayOn(out: TextOutput, { objects }: AdoptReport): void {
  const refused = objects.filter(({ verdict }) => verdict === 'refused');
  if (refused.length === 0) return;
  out.write(
    '\nNothing was changed. To take these over, write into metadata.annotations of their manifests, and push:\n',
  );
  out.write('  fleetrelay.dev/adopt: "true"\n');
  for (const { object, files } of refused) out.write(`  ${printable(files.join(', '))}: ${printable(object)}\n`);
}
