import type { FleetView } from '../../api/server-api.ts';
import { counted } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { styled, type TextOutput, type Tone, toneOf, writeTable, writeTableBelow } from '../output.ts';
import { problemsOf } from '../status-problems.ts';
import { CLUSTER_COLUMNS, DIAGNOSTIC_COLUMNS, SOURCE_COLUMNS } from '../views.ts';

/** `fleetrelay status`: the complete fleet; exit code 1 if it is not well. */
export function statusCommand(context: CliContext): CliCommand {
  return newCommand('status', context)
    .summary('how far the fleet agrees with the repository')
    .description(
      'Shows what is not well, the worst first; then sources, clusters, held removals and diagnostics. Exits with 1 if the server is not ready, a source or cluster is behind, a source or cluster is suspended, a cluster holds something back or has objects that do not work, a removal is held, safe mode waits for a cluster, the server admits or sends nothing new, or a certificate of the server has ended. A rollout that is under way is well, and so is the cluster of a hibernated Shoot.',
    )
    .examples([
      ['fleetrelay status', 'one look at the whole fleet'],
      ['fleetrelay status -o json', 'the same for programs; the exit code is 1 if the fleet is not well'],
    ])
    .asks(async (api) => {
      const fleet = await api.status();
      return {
        value: fleet,
        table: (out) => writeFleet(out, fleet),
        exitCode: problemsOf(fleet).length === 0 ? EXIT.ok : EXIT.notWell,
      };
    });
}

function writeFleet(out: TextOutput, fleet: FleetView): void {
  writeHead(out, fleet);
  if (fleet.replica !== undefined) writeReplica(out, fleet.replica);
  out.write('\n');
  writeTable(out, SOURCE_COLUMNS, fleet.sources);
  out.write('\n');
  if (fleet.clusters.length > 0) writeTable(out, CLUSTER_COLUMNS, fleet.clusters);
  else out.write('no clusters are declared\n');
  const remark = (tone: Tone, what: string, message: string): void =>
    out.write(`\n${styled(out, tone, what)}${printable(message)}\n`);
  const { replica, statusBranch: branch, endingCertificates = [], safeMode } = fleet;
  // A follower does not publish status.
  if (replica?.leads !== false && branch !== null && branch.state !== 'synced') {
    remark(branch.state === 'pending' ? 'warn' : 'bad', 'status branch', `: ${branch.state}: ${branch.message}`);
  }
  for (const { over, message } of endingCertificates) remark(over ? 'bad' : 'warn', 'certificate', `: ${message}`);
  for (const { cluster, message } of safeMode?.causes ?? []) {
    remark('warn', 'safe mode', ` (${safeMode?.mode}): ${cluster}: ${message}`);
  }
  for (const { digest, message, removals } of fleet.heldRemovals) {
    out.write(`\n${styled(out, 'warn', 'held')}: ${counted(removals.length, 'removal')}; ${printable(message)}\n`);
    out.write(`  look: fleetrelay approve --list\n  release: fleetrelay approve ${digest.slice(0, 12)}\n`);
  }
  writeTableBelow(out, DIAGNOSTIC_COLUMNS, fleet.diagnostics);
}

/** The most problems that are printed above the tables. */
const MOST_PROBLEMS = 10;

/** Writes the worst first: what is not well, and only then how far the fleet has got. */
function writeHead(out: TextOutput, fleet: FleetView): void {
  const name = styled(out, 'strong', printable(fleet.fleet));
  const problems = problemsOf(fleet);
  if (problems.length === 0) {
    out.write(`${name}: ${styled(out, 'good', 'ready')}; ${printable(fleet.summary)}\n`);
    return;
  }
  const isBad = problems.some(({ severity }) => severity === 'error');
  out.write(`${name}: ${styled(out, isBad ? 'bad' : 'warn', counted(problems.length, 'problem'))}\n`);
  for (const { severity, where, what } of problems.slice(0, MOST_PROBLEMS)) {
    out.write(`  ${styled(out, toneOf(severity), severity.padEnd(7))} ${printable(where)}: ${printable(what)}\n`);
  }
  const more = problems.length - MOST_PROBLEMS;
  if (more > 0) out.write(`  and ${more} more\n`);
  out.write(`${printable(fleet.summary)}; what to do: fleetrelay check\n`);
}

/** Writes the role of this server among several. */
function writeReplica(out: TextOutput, { id, leads, leader, alive, problem }: NonNullable<FleetView['replica']>): void {
  const at = leader === null || leader.address === null ? '' : ` (${leader.address})`;
  const follows = leader === null ? '' : ` follows ${leader.id}${at}, which knows what is held`;
  const role = leads ? ' leads' : follows;
  const wrong = problem === '' ? '' : styled(out, 'bad', `: ${printable(problem)}`);
  out.write(`server ${printable(id)}${printable(role)}${wrong}; ${alive} of this fleet are heard\n`);
}
