import type { ImpactView } from '../../api/why-api.ts';
import { counted } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import { wholeNumber } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { type Column, styled, type TextOutput, writeTableBelow } from '../output.ts';

const CLUSTER_COLUMNS: readonly Column<ImpactView['clusters'][number]>[] = [
  { title: 'CLUSTER', text: ({ cluster }) => cluster },
  { title: 'OBJECTS', text: ({ objects }) => String(objects) },
];

const OBJECT_COLUMNS: readonly Column<ImpactView['objects'][number]>[] = [
  { title: 'CLUSTER', text: ({ cluster }) => cluster },
  { title: 'OBJECT', text: ({ object }) => object },
  { title: 'STATE', text: ({ state }) => state, isState: true },
];

/** `fleetrelay impact [SOURCE:]FILE[:LINE]`: the clusters and objects that a file reaches. */
export function impactCommand(context: CliContext): CliCommand {
  return newCommand('impact', context)
    .summary('which clusters and objects a file reaches')
    .description(
      'Lists what the admitted revision of a file reaches: the objects that are placed from it, the clusters that a Placement or KubernetesCluster of it selects, what is made from declarations of the other kinds that the server reads. With a line it asks for the document there. A file that reaches nothing says why.',
    )
    .argument('<file>', 'path from the root of its source, FILE or FILE:LINE; SOURCE:FILE if several sources have it')
    .option('--limit <count>', 'list at most this number of objects; all are counted', wholeNumber(1, 10_000), 100)
    .examples([
      ['fleetrelay impact apps/web.yaml', 'every object that comes from the file, and in which clusters'],
      ['fleetrelay impact fleet/placement.yaml:12', 'what the Placement at line 12 selects'],
      ['fleetrelay impact team-b:apps/web.yaml -o json', 'a file of the source "team-b", for programs'],
    ])
    .asks(async (api, { limit }: { readonly limit: number }, file: string) => {
      const answer = await api.impact({ ...fileOf(file), limit: String(limit) });
      return { value: answer, table: (out) => writeImpact(out, answer) };
    });
}

/** A path may contain a colon, but no source does: what is before the first one is a source if the rest is a path. */
function fileOf(text: string) {
  const [, source, path = text, line] = /^(?:([a-z0-9]([a-z0-9-]*[a-z0-9])?):)?(.+?)(?::(\d+))?$/
    .exec(text)
    ?.filter((_, at) => at !== 2) ?? [text];
  return { source, path, line };
}

function writeImpact(out: TextOutput, { documents, clusters, objects, total }: ImpactView): void {
  for (const { name, at, message } of documents) {
    const title = name === '' ? '' : `${styled(out, 'strong', printable(name))} `;
    out.write(`${title}${printable(at)}: ${printable(message)}\n`);
  }
  writeTableBelow(out, CLUSTER_COLUMNS, clusters);
  writeTableBelow(out, OBJECT_COLUMNS, objects);
  if (total > objects.length) out.write(`and ${counted(total - objects.length, 'object')} more; --limit lists them\n`);
}
