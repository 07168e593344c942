import type { Column } from '../../../cli/output.ts';
import { type JsonObject, textOf } from '../../../model/text/json.ts';
import { humanDuration, parseRfc3339 } from '../../../model/text/time.ts';

/** The columns that Gardener shows of Shoots. `now` gives milliseconds since 1970. */
export function shootColumns(now: () => number): readonly Column<JsonObject>[] {
  const column = (title: string, field: string): Column<JsonObject> => ({ title, text: (row) => textOf(row[field]) });
  const wide = (title: string, field: string): Column<JsonObject> => ({ ...column(title, field), isWide: true });
  return [
    column('NAMESPACE', 'namespace'),
    column('NAME', 'name'),
    column('CLOUDPROFILE', 'cloudProfile'),
    column('PROVIDER', 'provider'),
    column('REGION', 'region'),
    wide('SEED', 'seed'),
    column('K8S VERSION', 'k8sVersion'),
    column('HIBERNATION', 'hibernation'),
    column('LAST OPERATION', 'lastOperation'),
    {
      title: 'STATUS',
      text: ({ status, stale }) => `${textOf(status)}${stale === true ? ' (stale)' : ''}`,
      isState: true,
    },
    wide('PURPOSE', 'purpose'),
    wide('GARDENER VERSION', 'gardenerVersion'),
    wide('APISERVER', 'apiServer'),
    wide('CONTROL', 'control'),
    wide('OBSERVABILITY', 'observability'),
    wide('NODES', 'nodes'),
    wide('SYSTEM', 'system'),
    { title: 'AGE', text: ({ creationTimestamp }) => ageOf(textOf(creationTimestamp), now()) },
  ];
}

/** The age of an object as kubectl writes it. */
function ageOf(created: string, now: number): string {
  const since = parseRfc3339(created);
  return since === undefined ? '<unknown>' : humanDuration(now - since);
}
