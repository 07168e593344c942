import type { Command } from 'commander';
import { counted } from '../../model/messages.ts';
import type { FleetView } from '../../server/api.ts';
import { type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples, newCommand, type TextOutput } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type OutputFormat, outputOption, print, printable, writeTable } from '../output.ts';
import { styled } from '../style.ts';
import { CLUSTER_COLUMNS, DIAGNOSTIC_COLUMNS, healthOfCluster, SOURCE_COLUMNS } from '../views.ts';

const EXAMPLES = examples([
  ['fleetrelay status', 'one look at the whole fleet'],
  ['fleetrelay status -o json', 'the same for programs; the exit code is 1 if the fleet is not well'],
]);

/** `fleetrelay status`: the whole fleet at a glance; exit code 1 if it is not well. */
export function statusCommand(context: CliContext): Command {
  return withApiOptions(newCommand('status', context))
    .summary('how far the fleet agrees with the repository')
    .description(
      'Shows sources, clusters, held removals and diagnostics. Exits with 1 if the server is not ready, a source or cluster is behind, a source or cluster is suspended, a cluster holds something back (its stop button is on) or has objects that do not work, a removal is held, safe mode waits for a cluster, the server admits or sends nothing new, or a certificate of the server has ended. A rollout that is under way is well.',
    )
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async ({ output, ...api }: ApiOptions & { readonly output: OutputFormat }) => {
      const fleet = await (await connect(context, api)).status();
      await print(context, output, fleet, (out) => writeFleet(out, fleet));
      context.exit(isWell(fleet) ? EXIT.ok : EXIT.notWell);
    });
}

function isWell(fleet: FleetView): boolean {
  return (
    fleet.ready &&
    fleet.heldRemovals.length === 0 &&
    fleet.safeMode === null &&
    (fleet.replica?.trouble ?? '') === '' &&
    fleet.endingCertificates?.some(({ over }) => over) !== true &&
    fleet.sources.every(({ state, partial, suspended }) => state === 'synced' && !partial && suspended === null) &&
    fleet.clusters.every(
      (cluster) =>
        cluster.inSync &&
        cluster.suspended === null &&
        cluster.counts.held === 0 &&
        healthOfCluster(cluster) !== 'not healthy',
    ) &&
    fleet.diagnostics.every(({ severity }) => severity !== 'error')
  );
}

function writeFleet(out: TextOutput, fleet: FleetView): void {
  const ready = fleet.ready ? styled(out, 'good', 'ready') : styled(out, 'bad', 'not ready');
  out.write(`fleet ${styled(out, 'strong', printable(fleet.fleet))}: ${ready}; ${printable(fleet.summary)}\n`);
  if (fleet.replica !== undefined) writeReplica(out, fleet.replica);
  out.write('\n');
  writeTable(out, SOURCE_COLUMNS, fleet.sources);
  out.write('\n');
  if (fleet.clusters.length > 0) writeTable(out, CLUSTER_COLUMNS, fleet.clusters);
  else out.write('no clusters are declared\n');
  // Who follows publishes nothing, and knows nothing of it.
  const publishes = fleet.replica?.leads !== false;
  if (publishes && fleet.statusBranch !== null && fleet.statusBranch.state !== 'synced') {
    const { state, message } = fleet.statusBranch;
    out.write(
      `\n${styled(out, state === 'pending' ? 'warn' : 'bad', 'status branch')}: ${state}: ${printable(message)}\n`,
    );
  }
  for (const { over, message } of fleet.endingCertificates ?? []) {
    out.write(`\n${styled(out, over ? 'bad' : 'warn', 'certificate')}: ${printable(message)}\n`);
  }
  for (const { cluster, message } of fleet.safeMode?.causes ?? []) {
    const mode = fleet.safeMode?.mode ?? '';
    out.write(`\n${styled(out, 'warn', 'safe mode')} (${mode}): ${printable(cluster)}: ${printable(message)}\n`);
  }
  for (const { digest, message, removals } of fleet.heldRemovals) {
    out.write(`\n${styled(out, 'warn', 'held')}: ${counted(removals.length, 'removal')}; ${printable(message)}\n`);
    out.write(`  look: fleetrelay approve --list\n  release: fleetrelay approve ${digest.slice(0, 12)}\n`);
  }
  if (fleet.diagnostics.length > 0) {
    out.write('\n');
    writeTable(out, DIAGNOSTIC_COLUMNS, fleet.diagnostics);
  }
}

/** What this server is among several. */
function writeReplica(out: TextOutput, { id, leads, leader, alive, trouble }: NonNullable<FleetView['replica']>): void {
  const at = leader === null || leader.address === null ? '' : ` (${leader.address})`;
  const follows = leader === null ? '' : ` follows ${leader.id}${at}, which knows what is held`;
  const role = leads ? ' leads' : follows;
  const wrong = trouble === '' ? '' : styled(out, 'bad', `: ${printable(trouble)}`);
  out.write(`server ${printable(id)}${printable(role)}${wrong}; ${alive} of this fleet are heard\n`);
}
