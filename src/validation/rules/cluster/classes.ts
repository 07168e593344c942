import { checkOverhead } from '../pods/resources.ts';
import { checkToleration } from '../pods/scheduling.ts';
import {
  entryOf,
  type Field,
  filledIfSet,
  get,
  getIn,
  hasForm,
  integer,
  invalid,
  items,
  report,
  text,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule } from '../shared/names.ts';
import { checkLabelMap } from '../shared/selectors.ts';

const HIGHEST_PRIORITY = 1_000_000_000;
const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

/** What an API server checks of a PriorityClass. */
export const priorityClassRule = kindRule(dnsSubdomainRule, (root) => {
  const name = get(get(root, 'metadata'), 'name');
  const value = get(root, 'value');
  const found = word(name) ?? '';
  if (found.startsWith('system-')) {
    const wanted = entryOf(SYSTEM_PRIORITIES, found);
    const isSystem = wanted === integer(value) && get(root, 'globalDefault').value !== true;
    if (wanted === undefined || !isSystem) {
      invalid(name, 'must not begin with "system-", which is kept for Kubernetes itself', { reason: 'BadName' });
    }
  } else if ((integer(value) ?? 0) > HIGHEST_PRIORITY) invalid(value, `must be at most ${HIGHEST_PRIORITY}`);
  filledIfSet(get(root, 'preemptionPolicy'));
});

/** What an API server checks of a RuntimeClass. */
export const runtimeClassRule = kindRule(dnsSubdomainRule, (root) => {
  const handler = get(root, 'handler');
  hasForm(handler, dnsLabelRule);
  checkOverhead(getIn(root, 'overhead', 'podFixed'));
  const scheduling = get(root, 'scheduling');
  checkLabelMap(get(scheduling, 'nodeSelector'));
  const tolerations = items(get(scheduling, 'tolerations'));
  const seen = new Set<string>();
  for (const toleration of tolerations) {
    checkToleration(toleration);
    const key = ['key', 'operator', 'value', 'effect'].map((part) => keyPart(toleration, part)).join('\n');
    if (seen.has(key)) report(toleration, 'DuplicateValue', 'the same toleration stands above');
    seen.add(key);
  }
});

function keyPart(toleration: Field, part: string): string {
  return text(get(toleration, part)) ?? '';
}
