import type { Command } from 'commander';
import {
  type AdoptedObject,
  type AdoptReport,
  type AdoptRequest,
  type AdoptVerdict,
  NEEDS_PERSON,
} from '../../compose/cluster/adopt-verdict.ts';
import { type ClusterName, type FleetName, parseFleetName } from '../../model/ids.ts';
import { must } from '../../model/result.ts';
import { clusterName, fleetName } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples, type TextOutput } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type KubeFlags, kubeTarget, withKubeOptions } from '../kube-options.ts';
import { type OutputFormat, outputOption, print, printable } from '../output.ts';
import { runIo } from '../run-root.ts';
import { styled, type Tone } from '../style.ts';

interface Flags extends ApiOptions, KubeFlags {
  readonly directory?: string;
  readonly fleet?: FleetName;
  readonly dryRun?: true;
  readonly output: OutputFormat;
}

const EXAMPLES = examples([
  ['fleetrelay cluster adopt east --dry-run --context east', 'what the first sync of "east" would change'],
  [
    'fleetrelay cluster adopt east --dry-run --context east --directory ./fleet --fleet shop',
    'the same for a checkout, before it is pushed; no server is asked',
  ],
]);

const TONES: Readonly<Record<AdoptVerdict, Tone>> = {
  create: 'good',
  unchanged: 'faint',
  change: 'warn',
  adopt: 'warn',
  refused: 'bad',
  conflict: 'bad',
  failed: 'bad',
  hidden: 'faint',
};

/** `fleetrelay cluster adopt NAME --dry-run`. */
export function adoptCommand(parent: Command, context: CliContext): void {
  const command = withApiOptions(parent.command('adopt'))
    .summary('what a first sync would change in a cluster')
    .description(
      'Asks the API server of a cluster what applying each object would change, as a dry run: created, unchanged, changed (field by field), taken over, or refused because somebody else has it. Writes nothing. What is somebody else\'s is taken over only if its manifest in the repository says so: fleetrelay.dev/adopt: "true". Exits with 1 if something needs a person.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--dry-run', 'only show what would change (without it, also what is to be written into the repository)')
    .option('--directory <dir>', 'take the desired state from this checkout instead of the server')
    .option('--fleet <name>', 'name of the fleet, with --directory', fleetName);
  withKubeOptions(command, { cluster: 'the cluster', namespace: 'namespace of the agent' })
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async (name: ClusterName, flags: Flags) => {
      const report = await context.roots.clusterAdopt(await requestOf(context, name, flags), runIo(context));
      await print(context, flags.output, report, (out) => {
        writeReport(out, report);
        if (flags.dryRun === undefined) writeWayOn(out, report);
      });
      context.exit(NEEDS_PERSON.some((verdict) => report.counts[verdict] > 0) ? EXIT.notWell : EXIT.ok);
    });
}

async function requestOf(context: CliContext, cluster: ClusterName, flags: Flags): Promise<AdoptRequest> {
  const { directory, fleet } = flags;
  const kube = kubeTarget(flags) ?? {};
  if (directory !== undefined) {
    if (fleet === undefined) {
      throw new CliError(
        EXIT.usage,
        'adopt needs --fleet beside --directory',
        'the name that the server is given with serve --fleet',
      );
    }
    return { cluster, fleet, kube, desired: { type: 'checkout', folder: directory } };
  }
  const client = await connect(context, flags);
  const [status, items] = await Promise.all([client.status(), client.desired(cluster)]);
  return { cluster, fleet: must(parseFleetName(status.fleet)), kube, desired: { type: 'server', items } };
}

function writeReport(out: TextOutput, { cluster, server, objects, counts }: AdoptReport): void {
  for (const object of objects) if (object.verdict !== 'unchanged') writeObject(out, object);
  const counted = Object.entries(counts).filter(([, count]) => count > 0);
  const summary = counted.map(([verdict, count]) => `${count} ${verdict}`).join(', ');
  out.write(`${printable(cluster)} (${printable(server)}): ${summary === '' ? 'nothing should be there' : summary}\n`);
}

function writeObject(out: TextOutput, { object, verdict, changes, conflicts, message, files }: AdoptedObject): void {
  const why = message === '' ? '' : `: ${printable(message)}`;
  out.write(`${styled(out, TONES[verdict], verdict)} ${printable(object)}${why}`);
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
