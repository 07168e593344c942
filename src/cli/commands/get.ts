import { Argument } from 'commander';
import type { ClusterName } from '../../model/ids.ts';
import { type JsonObject, type JsonValue, textOf } from '../../model/json.ts';
import { suggestion } from '../../model/messages.ts';
import { printable } from '../../model/printable.ts';
import type { ViewFilter } from '../../model/view-filter.ts';
import type { Api } from '../api.ts';
import { addTag, clusterName } from '../arguments.ts';
import { type CliCommand, type CliContext, newCommand } from '../command.ts';
import { CliError, EXIT, refuseUsage } from '../exit-codes.ts';
import { type Answer, type Column, LIST_FORMATS, listAnswer } from '../output.ts';
import {
  CLUSTER_COLUMNS,
  DATAPLANE_COLUMNS,
  DIAGNOSTIC_COLUMNS,
  ENDPOINT_COLUMNS,
  OUTPUT_COLUMNS,
  REMEDIATION_COLUMNS,
  REMOVAL_COLUMNS,
  removalRows,
  SERVICE_COLUMNS,
  SOURCE_COLUMNS,
  shootColumns,
} from '../views.ts';

/** Asks for a list that a filter limits, and answers it. `name`: only what has this name. */
type List = (api: Api, filter: ViewFilter, name?: string) => Promise<Answer>;

const LISTS: Readonly<Record<string, List>> = {
  clusters: async (api, { cluster }) => {
    const found = (await api.list('clusters')).filter(({ name }) => isOf(cluster, name));
    if (cluster !== undefined && found.length === 0)
      throw new CliError(EXIT.notFound, `there is no cluster ${cluster}`);
    return listAnswer(CLUSTER_COLUMNS, found, 'no clusters');
  },
  outputs: async (api, { cluster }) =>
    listAnswer(
      OUTPUT_COLUMNS,
      await api.list('outputs', { cluster }),
      none('outputs', cluster === undefined ? {} : { cluster }),
    ),
  sources: async (api) => listAnswer(SOURCE_COLUMNS, await api.list('sources'), 'no sources'),
  removals: async (api, { cluster }) => {
    const sets = await api.list('removals');
    const found = sets.filter(({ removals }) => removals.some((removal) => isOf(cluster, removal.cluster)));
    const rows = removalRows(found).filter((row) => isOf(cluster, row.cluster));
    return listAnswer(REMOVAL_COLUMNS, rows, none('removals', cluster === undefined ? {} : { cluster }), found);
  },
  diagnostics: async (api) => listAnswer(DIAGNOSTIC_COLUMNS, await api.list('diagnostics'), 'no diagnostics'),
  dataplanes: async (api, filter) =>
    listAnswer(DATAPLANE_COLUMNS, await api.view('dataplanes', filter), none('data planes', filter)),
  services: async (api, filter) =>
    listAnswer(SERVICE_COLUMNS, await api.view('services', filter), none('services', filter)),
  endpoints: async (api, filter) =>
    listAnswer(ENDPOINT_COLUMNS, await api.view('endpoints', filter), none('endpoints', filter)),
  remediations: async (api, filter) =>
    listAnswer(REMEDIATION_COLUMNS, await api.view('remediations', filter), none('remediations', filter)),
  shoots: async (api, filter, name) => {
    const rows = await api.view('shoots', filter);
    const found = rows.filter((row) => name === undefined || isNamed(row, name));
    if (name !== undefined && found.length === 0) {
      const meant = suggestion(
        name,
        rows.map((row) => `${textOf(row.namespace)}/${textOf(row.name)}`),
      );
      const hint = meant === undefined ? undefined : `did you mean ${printable(meant)}?`;
      throw new CliError(EXIT.notFound, `there is no Shoot ${printable(name)}`, hint);
    }
    return listAnswer(shootColumns(Date.now()), found, none('Shoots', filter));
  },
};
const OF_HEALTH = ['dataplanes', 'services', 'endpoints'];
const OF_CLUSTERS = ['clusters', 'outputs', 'removals', 'remediations', 'shoots', ...OF_HEALTH];

interface Flags {
  readonly cluster?: ClusterName;
  readonly mesh?: string;
  readonly tag?: Readonly<Record<string, string>>;
}

/** `fleetrelay get WHAT [NAME]`: lists one kind of thing that the server knows. */
export function getCommand(context: CliContext): CliCommand {
  const known = Object.keys(LISTS);
  return (
    newCommand('get', context)
      .summary(
        'list clusters, outputs, sources, held removals, diagnostics, mirrored services, Shoots, or data planes and their services',
      )
      .description(
        `Lists what the server knows: ${known.join(', ')}, or a view that the server has. The server names its views if it has none of the name.`,
      )
      // The choices are for completion only: the server knows which views there are.
      .addArgument(new Argument('<what>', 'what to list').choices(known).argParser((what) => what))
      .argument('[name]', 'only the one of this name, NAME or NAMESPACE/NAME (shoots)')
      .option('--cluster <name>', `only what belongs to this cluster (${OF_CLUSTERS.join(', ')})`, clusterName)
      .option('--mesh <name>', `only what belongs to this mesh (${OF_HEALTH.join(', ')})`)
      .option(
        '--tag <key=value>',
        `only what an inbound with this tag serves; repeated: one inbound has them all (${OF_HEALTH.join(', ')})`,
        addTag,
      )
      .examples([
        ['fleetrelay get clusters', 'every cluster, whether it is connected and in sync'],
        ['fleetrelay get outputs --cluster east', 'every object that "east" should hold, and what became of it'],
        ['fleetrelay get removals -o yaml', 'what a guard holds back'],
        ['fleetrelay get dataplanes --tag kuma.io/service=web', 'the proxies of a service, and why one is not online'],
        ['fleetrelay get endpoints --mesh default', 'the load-balancing sets: what may receive traffic now'],
        ['fleetrelay get shoots', 'how each Shoot is: its last operation, and the worst of its conditions'],
        [
          'fleetrelay get remediations --cluster blue',
          'what its agent has changed of webhooks, and what it would change',
        ],
        ['fleetrelay get shoots garden-web/blue -o wide', 'one Shoot with each of its conditions'],
        [
          'fleetrelay get mirrored-services',
          'every Service that is made known in other clusters: a view of the server',
        ],
      ])
      .asks(async (api, { cluster, mesh, tag }: Flags, what: string, name?: string) => {
        refuseUsage([
          [cluster !== undefined && !OF_CLUSTERS.includes(what), `--cluster does not apply to ${what}`],
          [mesh !== undefined && !OF_HEALTH.includes(what), `--mesh does not apply to ${what}`],
          [name !== undefined && what !== 'shoots', `a name does not apply to ${what}`],
          [tag !== undefined && !OF_HEALTH.includes(what), `--tag does not apply to ${what}`],
        ]);
        const filter = {
          ...(cluster === undefined ? {} : { cluster }),
          ...(mesh === undefined ? {} : { mesh }),
          ...(tag === undefined ? {} : { tags: tag }),
        };
        const list = Object.hasOwn(LISTS, what) ? LISTS[what] : undefined;
        if (list !== undefined) return list(api, filter, name);
        const rows = await api.view(what);
        return listAnswer(columnsOf(rows), rows, `no ${what}`);
      }, LIST_FORMATS)
  );
}

function isNamed({ namespace, name }: JsonObject, wanted: string): boolean {
  return name === wanted || `${textOf(namespace)}/${textOf(name)}` === wanted;
}

/** Says that a list is empty, and which filters it has. */
function none(what: string, { cluster, mesh, tags = {} }: ViewFilter): string {
  const filters = [
    ...(mesh === undefined ? [] : [`--mesh ${mesh}`]),
    ...(cluster === undefined ? [] : [`--cluster ${cluster}`]),
    ...Object.entries(tags).map(([key, value]) => `--tag ${key}=${value}`),
  ];
  return filters.length === 0 ? `no ${what}` : `no ${what} match ${filters.map(printable).join(' ')}`;
}

/** One column for each member of the rows, in the order in which the rows have them. */
function columnsOf(rows: readonly JsonObject[]): readonly Column<JsonObject>[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.map((name) => ({ title: name.toUpperCase(), text: (row) => cellOf(row[name]) }));
}

function cellOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

function isOf(cluster: string | undefined, name: string): boolean {
  return cluster === undefined || cluster === name;
}
