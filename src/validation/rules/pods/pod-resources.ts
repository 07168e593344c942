import { quantityOf } from '../../values/quantities.ts';
import { type Field, get, invalid, isSet, items, members } from '../shared/field.ts';
import { checkResources } from './resources.ts';

/** Checks the resources of a Pod, and that they cover the resources of its containers. */
export function checkPodResources(spec: Field): void {
  const resources = get(spec, 'resources');
  if (!isSet(resources)) return;
  checkResources(resources, 'pod', new Set());
  for (const request of members(get(resources, 'requests'))) {
    const amount = quantityOf(request.value);
    const total = totalOfContainers(spec, 'requests', request.step);
    if (amount === undefined || total <= amount) continue;
    invalid(request, `must be at least ${total}, what the containers request together`, {
      reason: 'RequestAboveLimit',
    });
  }
  for (const limit of members(get(resources, 'limits'))) {
    const amount = quantityOf(limit.value);
    if (amount === undefined) continue;
    for (const container of items(get(spec, 'containers'))) {
      const own = get(get(get(container, 'resources'), 'limits'), limit.step);
      if ((quantityOf(own.value) ?? 0) <= amount) continue;
      invalid(own, `must be at most the limit of the Pod, ${limit.value}`, { reason: 'RequestAboveLimit' });
    }
  }
}

/** What all containers need at the same time: the largest init container, if it needs more than the containers together. */
function totalOfContainers(spec: Field, which: 'requests' | 'limits', name: string): number {
  const amountOf = (container: Field): number =>
    quantityOf(get(get(get(container, 'resources'), which), name).value) ?? 0;
  let sidecars = 0;
  let largestInit = 0;
  for (const container of items(get(spec, 'initContainers'))) {
    const amount = amountOf(container);
    if (get(container, 'restartPolicy').value === 'Always') {
      sidecars += amount;
      largestInit = Math.max(largestInit, sidecars);
    } else largestInit = Math.max(largestInit, sidecars + amount);
  }
  const containers = items(get(spec, 'containers')).reduce((sum, container) => sum + amountOf(container), 0);
  return Math.max(containers + sidecars, largestInit);
}
