import { validate } from '../../generated/service-mirror.js';
import type { Act } from '../../src/api/answer.ts';
import type { Texts } from '../../src/api/domain-api.ts';
import { type CliCommand, newCommand, type ProcessContext } from '../../src/cli/command.ts';
import type { DomainViews } from '../../src/cli/domain-cli.ts';
import { listedKind } from '../../src/cli/lists/listed-kind.ts';
import type { OpenAgentDomain } from '../../src/compose/agent/agent-domain.ts';
import type { RunningPart, ServerPart } from '../../src/compose/serve/server-part.ts';
import type { DomainShell } from '../../src/domains/shell.ts';
import type { Derived, Graph, Input } from '../../src/engine/collections/types.ts';
import type { Domain, DomainParts } from '../../src/engine/domain.ts';
import { type Declared, declaredOf } from '../../src/engine/fleet/declared.ts';
import { documentKey } from '../../src/engine/fleet/sources.ts';
import type { Want } from '../../src/engine/placement/wants.ts';
import type { StatusPart } from '../../src/engine/status/declared-status.ts';
import { documentSubject, summarise, tallyOf } from '../../src/engine/status/progress.ts';
import type { DomainManifest } from '../../src/manifest/kinds/decoders.ts';
import { decoder } from '../../src/manifest/kinds/reading.ts';
import { readClusterChoice } from '../../src/manifest/kinds/selectors.ts';
import { type AgentReport, agentReportKey, madeReport, reportsOf } from '../../src/model/agent/agent-report.ts';
import { objectKey } from '../../src/model/objects/object-key.ts';
import { objectDigest } from '../../src/model/text/digest.ts';
import { type JsonObject, objectOf, textOf } from '../../src/model/text/json.ts';
import type { SharedRecord } from '../../src/runtime/ledger/records.ts';
import { fields, isText } from '../../src/runtime/ledger/shapes.ts';
import { createSharedInput } from '../../src/runtime/shared-input.ts';

/**
 * A domain that shows each part of one, for the page on adding a domain. Banners stand in the place of mirrored services and take
 * their kind: a banner becomes a ConfigMap in the clusters that it names. People colour it, agents report how many they see.
 */

// The kind: how its documents are read.
export const bannersManifest: DomainManifest = {
  decoders: {
    ServiceMirror: decoder(validate, ({ metadata: { name }, spec }, problems) => ({
      ...{ name, to: readClusterChoice(spec.to, ['spec', 'to'], problems) },
      ...{
        from: { type: 'clusters', clusters: { names: [] } },
        serviceSelector: { matchLabels: {}, matchExpressions: [] },
      },
      ...{ namespaces: { include: [], exclude: [] }, copy: { labels: [], annotations: [] } },
    })),
  },
};

// The engine: what becomes of the declarations.
interface BannerParts extends DomainParts {
  /** What people have said, by the name of a banner. */
  readonly colours: Input<{ readonly colour: string }>;
}

const SEEN: AgentReport = { kind: 'BannerReport', name: 'seen' };

export const bannersEngine: Domain<BannerParts> = {
  name: 'banners',
  readsLive: {},
  derive: (graph, { declarations, inputs }) => {
    const colours: BannerParts['colours'] = graph.input('bannerColours');
    const wants = graph.derive<Declared<'ServiceMirror'>, Want>({
      name: 'bannerWants',
      ...declaredOf(declarations, 'ServiceMirror'),
      reads: [colours],
      compute: ({ value: { name, origin, identity, value } }, read, emit) => {
        const { colour } = read.get(colours, '', name) ?? { colour: 'white' };
        const banner = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { namespace: 'banners', name },
          data: { colour },
        };
        emit(origin.source, documentKey(origin.path, identity), {
          ...{ key: keyOf(name), value: banner, digest: objectDigest(banner), clusters: value.to.names },
          ...{ origin, identity, scope: [], scopeUnknown: false },
          derived: { domain: 'banners', standsFor: { named: `the banner ${name}` } },
        });
      },
    });
    const seen = (cluster: string): number => {
      const count = objectOf(inputs.live.get(cluster, agentReportKey(SEEN))?.value.status).banners;
      return typeof count === 'number' ? count : 0;
    };
    return {
      ...{ colours, inputs: { colours }, collections: { bySource: [wants], anywhere: [] }, makes: { wants: [wants] } },
      report: ({ progressBySubject }) => ({
        statuses: statusesOf(graph, declaredOf(declarations, 'ServiceMirror'), progressBySubject),
        shows: {
          views: {
            banners: () =>
              [...declarations.entries('ServiceMirror')].flatMap(({ value }) => {
                const { name, value: banner } = value as Declared<'ServiceMirror'>;
                return banner.to.names.map((cluster) => ({ name, cluster, seen: seen(cluster) }));
              }),
          },
        },
      }),
    };
  },
};

const keyOf = (name: string) => objectKey({ group: '', kind: 'ConfigMap', namespace: 'banners', name });

function statusesOf(
  graph: Graph,
  declared: ReturnType<typeof declaredOf<'ServiceMirror'>>,
  progressBySubject: Parameters<typeof tallyOf>[1],
): Derived<StatusPart> {
  return graph.derive<Declared<'ServiceMirror'>, StatusPart>({
    name: 'bannerStatuses',
    ...declared,
    reads: [progressBySubject],
    compute: ({ key, value }, read, emit) => {
      const tally = tallyOf(read, progressBySubject, documentSubject(value.origin));
      emit('ServiceMirror', key, { conditions: summarise(tally), fields: {} });
    },
  });
}

// The server: a record in the store, an act of the API, and a metric.
const colourRecords: SharedRecord = { prefix: 'banners/', shape: fields({ colour: isText }) };

export const bannersServer: ServerPart<number> = {
  records: [colourRecords],
  metrics: [
    {
      ...{ name: 'fleetrelay_coloured_banners', type: 'gauge', labels: [], help: 'Banners with a colour.' },
      read: (coloured: number) => coloured,
    },
  ],
  create: (core): RunningPart<number> => {
    const input = core.engine.reported(bannersEngine)?.parts.colours;
    if (input === undefined) throw new Error('the engine was made without banners');
    const colours = createSharedInput(core, colourRecords, {
      input,
      staged: (said: { readonly colour: string }) => said,
    });
    const set = async ({ name = '', colour = '' }: Texts): Promise<Act<object>> => {
      colours.set(name, { colour });
      return { ok: true, value: { name, colour }, receipt: colours.receipt(name) };
    };
    return {
      acts: [{ path: '/banners/:name', needed: { colour: 20 }, run: set }],
      figures: () => [...colours.entries()].length,
      stop: colours.follow(),
    };
  },
};

// The agent: what it reports of its cluster.
export const bannersInAgents: OpenAgentDomain = () => ({
  ofDirectory: () => [
    (report) => ({
      observe: ({ objects }) => {
        const banners = [...objects.keys()].filter((key) => key.startsWith('/ConfigMap/banners/')).length;
        report(reportsOf([madeReport(SEEN, { banners })]));
      },
      stop: () => undefined,
    }),
  ],
});

// The command line: a command, and a table of `get`.
export function bannerCommand(context: ProcessContext): CliCommand {
  return newCommand('banner', context)
    .summary('colour a banner')
    .argument('<name>', 'the banner')
    .argument('<colour>', 'its colour')
    .asks(async (api, _flags, name: string, colour: string) => {
      const value = await api.act<JsonObject>(['banners', name], { colour });
      return { value, table: (out) => void out.write(`the banner ${name} is ${colour}\n`) };
    });
}

export const bannerViews: DomainViews = {
  lists: [
    listedKind<JsonObject>({
      ...{ name: 'banners', words: ['banner'], one: 'banner', many: 'banners', what: 'every banner', naming: 'NAME' },
      columns: [
        { title: 'BANNER', text: ({ name }) => textOf(name) },
        { title: 'CLUSTER', text: ({ cluster }) => textOf(cluster) },
        { title: 'SEEN', text: ({ seen }) => String(seen) },
      ],
      ask: (api) => api.view('banners'),
      nameOf: ({ name }) => textOf(name),
      idOf: ({ name, cluster }) => `${textOf(name)} ${textOf(cluster)}`,
    }),
  ],
  examples: [['fleetrelay get banners', 'banners, and how many the agents see']],
};

// The line of `src/domains/domains.ts`.
export const banners: DomainShell = {
  name: 'banners',
  manifest: async () => bannersManifest,
  engine: async () => bannersEngine,
  server: async () => bannersServer,
  agent: async () => bannersInAgents,
  cli: {
    commands: [{ name: 'banner', after: 'cluster', load: async () => bannerCommand }],
    views: async () => bannerViews,
  },
};
