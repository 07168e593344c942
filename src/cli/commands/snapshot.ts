import type { WrittenRecording } from '../../compose/snapshot/record.ts';
import type { OutputDifference, RecordingDiff, Replay } from '../../compose/snapshot/replay.ts';
import { shownChange } from '../../model/plan/plan-text.ts';
import { counted } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import { type ApiOptions, withApiOptions } from '../api-options.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { styled, type TextOutput, whileWaiting } from '../output.ts';

/** `fleetrelay snapshot record|replay|diff`: the state of a fleet in a file, computed again elsewhere. */
export function snapshotCommand(context: CliContext): CliCommand {
  return newCommand('snapshot', context)
    .summary('record the state of a fleet in a file, compute it again elsewhere, compare two')
    .description(
      'A recording has all that the engine of a server computes from: the declarations of the sources, what agents have reported, and the ledger. Values of Secrets are replaced by hashes under a key that is kept nowhere, so that they cannot be found by trying.',
    )
    .examples([
      ['fleetrelay snapshot record', 'the state of the server on this machine, into fleetrelay.jsonl.gz'],
      ['fleetrelay snapshot replay fleetrelay.jsonl.gz', 'whether this version computes the same from it'],
    ])
    .addCommand(recordCommand(context))
    .addCommand(replayCommand(context))
    .addCommand(diffCommand(context));
}

function recordCommand(context: CliContext): CliCommand {
  const command = newCommand('record', context)
    .summary('record the present state of a running server')
    .option('--file <path>', 'the recording, packed with gzip; only you can read it', 'fleetrelay.jsonl.gz')
    .option('--force', 'replace a file that is there')
    .examples([
      ['fleetrelay snapshot record --file fleet.jsonl.gz', 'the state of the server on this machine'],
      ['fleetrelay plan --snapshot fleet.jsonl.gz', 'what the work tree would change of it, without the server'],
    ]);
  return withApiOptions(command).action(async () => {
    const { file, force, ...flags } = command.opts<RecordFlags>();
    const { connect } = await import('../api.ts');
    const inputs = await (await connect(context, flags)).recording();
    const { cwd, stdout, stderr, roots } = context;
    const written = await whileWaiting(stderr, 'recording', () =>
      roots.writeRecording({ file, force: force === true, cwd, inputs }),
    );
    writeWritten(stdout, written);
    context.exit(EXIT.ok);
  });
}

interface RecordFlags extends ApiOptions {
  readonly file: string;
  readonly force?: true;
}

function replayCommand(context: CliContext): CliCommand {
  return newCommand('replay', context)
    .summary('compute a recording again, and report the first differences')
    .description(
      'Computes from the inputs of a recording, and compares every output with what was recorded. The exit code is 1 if they differ: then this version computes something else.',
    )
    .argument('<file>', 'the recording')
    .examples([['fleetrelay snapshot replay fleet.jsonl.gz', 'whether this version computes the same']])
    .answers(async (_flags: object, file: string) => {
      const { cwd, stderr, roots } = context;
      const replay = await whileWaiting(stderr, 'replaying', () => roots.replayRecording({ file, cwd }));
      const exitCode = replay.differences.length === 0 ? EXIT.ok : EXIT.notWell;
      return { value: replay, table: (out) => writeReplay(out, replay), exitCode };
    });
}

function diffCommand(context: CliContext): CliCommand {
  return newCommand('diff', context)
    .summary('compare two recordings')
    .description(
      'Lists what differs in inputs and outputs of two recordings. Values and digests of Secrets are not compared, because each recording masks them with a key of its own. The exit code is 1 if the recordings differ.',
    )
    .argument('<before>', 'a recording')
    .argument('<after>', 'a later one')
    .examples([['fleetrelay snapshot diff yesterday.jsonl.gz today.jsonl.gz', 'what has changed since yesterday']])
    .answers(async (_flags: object, before: string, after: string) => {
      const diff = await context.roots.diffRecordings({ before, after, cwd: context.cwd });
      const exitCode = diff.differences.length === 0 ? EXIT.ok : EXIT.notWell;
      return { value: diff, table: (out) => writeDiff(out, diff), exitCode };
    });
}

function writeWritten(out: TextOutput, { file, header, inputs, outputs, bytes }: WrittenRecording): void {
  const size = `${counted(inputs, 'input')}, ${counted(outputs, 'output')}, ${counted(bytes, 'byte')}`;
  out.write(`${printable(file)}: the state of ${printable(header.fleet)} at ${printable(header.at)} (${size})\n`);
}

function writeReplay(out: TextOutput, { header, inputs, outputs, unknownInputs, differences, more }: Replay): void {
  const from = `${printable(header.fleet)} at ${printable(header.at)}, recorded by version ${printable(header.version)}`;
  out.write(`${from}: ${counted(inputs, 'input')}, ${counted(outputs, 'output')}\n`);
  for (const name of unknownInputs) out.write(`this version has no input ${printable(name)}: it is left out\n`);
  if (differences.length === 0)
    out.write(`${styled(out, 'good', 'the same')}: every output equals what was recorded\n`);
  writeDifferences(out, differences, more);
}

function writeDiff(out: TextOutput, { before, after, differences, more }: RecordingDiff): void {
  out.write(`${printable(before.at)} compared with ${printable(after.at)}\n`);
  if (differences.length === 0) out.write(`${styled(out, 'good', 'the same')}\n`);
  writeDifferences(out, differences, more);
}

function writeDifferences(out: TextOutput, differences: readonly OutputDifference[], more: number): void {
  for (const { collection, partition, key, what, fields } of differences) {
    const name = [collection, partition, key].filter((part) => part !== '').join(' ');
    out.write(`${styled(out, 'warn', what)} ${printable(name)}\n`);
    for (const field of fields) out.write(`    ${printable(`${field.path}: ${shownChange(field)}`)}\n`);
  }
  if (more > 0) out.write(`and ${more} more\n`);
}
