import { isJsonObject, type JsonObject, objectOf, textOf } from '../../src/model/text/json.ts';
import { block, generatedFrom, page, prose, section } from '../docs/markdown.ts';
import { createFieldReader } from '../docs/schema-fields.ts';

/** The charts below `deploy/helm`. */
export const CHARTS = ['fleetrelay', 'fleetrelay-agent', 'fleetrelay-crds'] as const;

type ChartName = (typeof CHARTS)[number];

/** What a README says beside the table of the values. */
interface Texts {
  /** Commands that install the chart. */
  readonly install: string;
  /** Lines that follow the commands. */
  readonly further: readonly string[];
}

const SERVER = 'helm install fleetrelay deploy/helm/fleetrelay --namespace fleetrelay-server --create-namespace';

const TEXTS: Readonly<Record<ChartName, Texts>> = {
  fleetrelay: {
    install: `${SERVER} \\
  --set 'sources[0].name=fleet' --set 'sources[0].git.url=https://git.example.com/fleet.git'`,
    further: [
      'Every field of a [RelayConfig](../../../docs/reference/relay-config.md) is a value of the same name; `safeMode` and `policy` make',
      'a [FleetPolicy](../../../docs/reference/kinds/fleetpolicy.md). [The guide](../../../docs/operate/helm.md) translates',
      'values of Gloo. Several replicas: [replicas](../../../docs/operate/replicas.md).',
      '',
      '`ingress` and `httpRoute` open hooks and API to the outside: [network](../../../docs/operate/network.md#from-outside-the-cluster).',
    ],
  },
  'fleetrelay-agent': {
    install: `kubectl create namespace fleetrelay
kubectl -n fleetrelay create secret generic east-token --from-file=token=east.token
helm install fleetrelay-agent deploy/helm/fleetrelay-agent --namespace fleetrelay \\
  --set cluster=east --set relay.serverAddress=relay.example.com:9900 \\
  --set relay.tokenSecret.name=east-token --set-file relay.rootCA=ca.crt \\
  --set 'rbac.namespaces={shop,payments}'`,
    further: [
      'Every right with its reason is in [rights](../../../docs/reference/rights.md). Removing the release leaves the objects of the',
      'fleet in the cluster: [uninstall](../../../docs/operate/uninstall.md).',
    ],
  },
  'fleetrelay-crds': {
    install: `helm install fleetrelay-crds deploy/helm/fleetrelay-crds
${SERVER} --set customResources.enabled=true`,
    further: [
      '`helm upgrade` brings newer definitions. `--take-ownership` takes over definitions that `kubectl apply` has brought, beside',
      '`--force-conflicts` where fields differ. `exclude` names definitions that belong to another product.',
    ],
  },
};

/** What a README is made of. */
export interface ChartParts {
  /** `Chart.yaml`. */
  readonly chart: JsonObject;
  /** `values.schema.json`. */
  readonly schema: JsonObject;
  /** `values.yaml`. */
  readonly values: JsonObject;
}

/** The README of a chart: how it is installed, and a row for each value with the default of `values.yaml`. */
export function chartReadme(name: ChartName, { chart, schema, values }: ChartParts): string {
  const { install, further } = TEXTS[name];
  const sections = createFieldReader(schema).sections('Values', '', withDefaults(schema, schema, values));
  return page([
    generatedFrom(`deploy/helm/${name}/{Chart.yaml,values.yaml,values.schema.json}`),
    '',
    `# ${name}`,
    '',
    prose(textOf(chart.description)),
    '',
    ...section('Install', [...block('sh', install), '', ...further]),
    ...sections.flatMap(({ title, lines }) => section(title, lines)),
  ]);
}

/**
 * The schema of a value with the defaults of `values.yaml` in place of its own. A definition that several values share is
 * written out where these give it defaults: they differ.
 */
function withDefaults(root: JsonObject, schema: JsonObject, values: JsonObject): JsonObject {
  const properties = Object.entries(objectOf(schema.properties)).map(([name, given]) => {
    const value = values[name];
    if (value === undefined || !isJsonObject(given)) return [name, given] as const;
    const member = resolved(root, given);
    const isObject = isJsonObject(value) && isJsonObject(member.properties);
    return [name, isObject ? withDefaults(root, member, value) : { ...member, default: value }] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

function resolved(root: JsonObject, schema: JsonObject): JsonObject {
  const { $ref, ...own } = schema;
  if (typeof $ref !== 'string') return schema;
  return { ...resolved(root, objectOf(objectOf(root.$defs)[$ref.replace('#/$defs/', '')])), ...own };
}
