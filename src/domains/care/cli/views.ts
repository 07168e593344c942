import type { DomainViews } from '../../../cli/domain-cli.ts';
import { asView, listedKind } from '../../../cli/lists/listed-kind.ts';
import { isPlacedName } from '../../../cli/lists/object-names.ts';
import type { Column } from '../../../cli/output.ts';
import { orDash } from '../../../cli/views.ts';
import { type JsonObject, type JsonValue, textOf } from '../../../model/text/json.ts';
import { shootColumns } from './shoot-columns.ts';

const REMEDIATION_COLUMNS: readonly Column<JsonObject>[] = [
  { title: 'TIME', text: ({ time }) => textOf(time) },
  { title: 'CLUSTER', text: ({ cluster }) => textOf(cluster) },
  { title: 'CONFIGURATION', text: ({ configuration }) => textOf(configuration) },
  { title: 'WEBHOOK', text: ({ webhook }) => orDash(webhook) },
  { title: 'FIELD', text: ({ field }) => orDash(field) },
  { title: 'FROM', text: ({ from }) => valueText(from) },
  { title: 'TO', text: ({ to }) => valueText(to) },
  { title: 'OUTCOME', text: ({ outcome }) => textOf(outcome), isState: true },
  { title: 'ID', text: ({ id }) => orDash(id), isWide: true },
  { title: 'MESSAGE', text: ({ message }) => orDash(message) },
];

function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const REMEDIATIONS = listedKind<JsonObject>({
  name: 'remediations',
  words: ['remediation'],
  what: "what agents have changed of others' webhooks, or would change",
  naming: 'the webhook configuration',
  asked: ['cluster'],
  columns: REMEDIATION_COLUMNS,
  ask: (api, filter) => api.view('remediations', asView(filter)),
  nameOf: ({ configuration }) => textOf(configuration),
  idOf: ({ cluster, id }) => `${textOf(cluster)} ${textOf(id)}`,
});

const SHOOTS = listedKind<JsonObject>({
  name: 'shoots',
  words: ['shoot'],
  one: 'Shoot',
  many: 'Shoots',
  what: 'Shoots: the last operation, and the worst of the conditions',
  naming: 'NAME or NAMESPACE/NAME',
  asked: ['cluster'],
  columns: shootColumns(() => Date.now()),
  ask: (api, filter) => api.view('shoots', asView(filter)),
  nameOf: ({ namespace, name }) => `${textOf(namespace)}/${textOf(name)}`,
  idOf: ({ namespace, name, cluster }) => [namespace, name, cluster].map(textOf).join(' '),
  isNamed: ({ namespace, name }, word) => isPlacedName(namespace, name, word),
  namespaceOf: ({ namespace }) => textOf(namespace),
});

/** Shoots, and what agents have changed of webhooks. */
export const careViews: DomainViews = {
  lists: [REMEDIATIONS, SHOOTS],
  examples: [
    ['fleetrelay get shoots garden-web/blue -o wide', 'one Shoot with each of its conditions'],
    ['fleetrelay get remediations --cluster blue', 'what its agent has changed of webhooks, and what it would change'],
  ],
  explain: {
    what: 'shoot/NAMESPACE/NAME, or shoot NAMESPACE/NAME, is a Shoot: since when each condition is as it is, which object is the cause, and when it turns False.',
    examples: [
      ['fleetrelay explain shoot garden-web/blue', 'a Shoot: what its conditions follow from'],
      ['fleetrelay explain shoot garden-web/blue EveryNodeReady', 'one of its conditions'],
    ],
  },
};
