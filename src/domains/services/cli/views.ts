import type { DomainViews } from '../../../cli/domain-cli.ts';
import { listedKind } from '../../../cli/lists/listed-kind.ts';
import { isObjectNamed, OBJECT_NAMING, shownRef } from '../../../cli/lists/object-names.ts';
import type { Column } from '../../../cli/output.ts';
import { type JsonObject, textOf } from '../../../model/text/json.ts';

const MIRRORED_SERVICE_COLUMNS: readonly Column<JsonObject>[] = [
  { title: 'SERVICE', text: ({ service }) => textOf(service) },
  { title: 'FROM', text: ({ from }) => textOf(from) },
  { title: 'TO', text: ({ to }) => textOf(to) },
  { title: 'MIRROR', text: ({ mirror }) => textOf(mirror), isWide: true },
];

const MIRRORED_SERVICES = listedKind<JsonObject>({
  name: 'mirrored-services',
  words: ['mirrored-service', 'mirror', 'mirrors'],
  one: 'mirrored service',
  many: 'mirrored-services',
  what: 'every Service that is made known in other clusters',
  naming: OBJECT_NAMING,
  columns: MIRRORED_SERVICE_COLUMNS,
  ask: (api) => api.view('mirrored-services'),
  nameOf: ({ service }) => textOf(service),
  idOf: ({ service, from, mirror }) => [service, from, mirror].map(textOf).join(' '),
  isNamed: ({ service, mirror }, word) => textOf(mirror) === word || isObjectNamed(textOf(service), word),
  namespaceOf: ({ service }) => shownRef(textOf(service)).namespace,
});

/** Services that are made known in other clusters. */
export const serviceViews: DomainViews = { lists: [MIRRORED_SERVICES], after: 'endpoints', examples: [] };
