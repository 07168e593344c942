import { checkOverhead } from '../pods/resources.ts';
import { checkToleration } from '../pods/scheduling.ts';
import { entryOf, type Field, filledIfSet } from '../shared/field.ts';
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
  const name = root.get('metadata').get('name');
  const value = root.get('value');
  const found = name.word ?? '';
  if (found.startsWith('system-')) {
    const wanted = entryOf(SYSTEM_PRIORITIES, found);
    const isSystem = wanted === value.integer && root.get('globalDefault').value !== true;
    if (wanted === undefined || !isSystem) {
      name.invalid('must not begin with "system-", which is kept for Kubernetes itself', { reason: 'BadName' });
    }
  } else if ((value.integer ?? 0) > HIGHEST_PRIORITY) value.invalid(`must be at most ${HIGHEST_PRIORITY}`);
  filledIfSet(root.get('preemptionPolicy'));
});

/** What an API server checks of a RuntimeClass. */
export const runtimeClassRule = kindRule(dnsSubdomainRule, (root) => {
  const handler = root.get('handler');
  handler.hasForm(dnsLabelRule);
  checkOverhead(root.getIn('overhead', 'podFixed'));
  const scheduling = root.get('scheduling');
  checkLabelMap(scheduling.get('nodeSelector'));
  const tolerations = scheduling.get('tolerations').items();
  const seen = new Set<string>();
  for (const toleration of tolerations) {
    checkToleration(toleration);
    const key = ['key', 'operator', 'value', 'effect'].map((part) => keyPart(toleration, part)).join('\n');
    if (seen.has(key)) toleration.report('DuplicateValue', 'the same toleration stands above');
    seen.add(key);
  }
});

function keyPart(toleration: Field, part: string): string {
  return toleration.get(part).text ?? '';
}
