import { quantityOf } from '../../values/quantities.ts';
import type { Field } from '../shared/field.ts';
import { checkResources } from './resources.ts';

/** Checks the resources of a Pod, and that they cover the resources of its containers. */
export function checkPodResources(spec: Field): void {
  const resources = spec.get('resources');
  if (!resources.isSet) return;
  checkResources(resources, 'pod', new Set());
  for (const request of resources.get('requests').members()) {
    const amount = quantityOf(request.value);
    const total = totalOfContainers(spec, 'requests', request.step);
    if (amount === undefined || total <= amount) continue;
    request.invalid(`must be at least ${total}, what the containers request together`, {
      reason: 'RequestAboveLimit',
    });
  }
  for (const limit of resources.get('limits').members()) {
    const amount = quantityOf(limit.value);
    if (amount === undefined) continue;
    for (const container of spec.get('containers').items()) {
      const own = container.get('resources').get('limits').get(limit.step);
      if ((quantityOf(own.value) ?? 0) <= amount) continue;
      own.invalid(`must be at most the limit of the Pod, ${limit.value}`, { reason: 'RequestAboveLimit' });
    }
  }
}

/** What all containers need at the same time: the largest init container, if it needs more than the containers together. */
function totalOfContainers(spec: Field, which: 'requests' | 'limits', name: string): number {
  const amountOf = (container: Field): number => quantityOf(container.get('resources').get(which).get(name).value) ?? 0;
  let sidecars = 0;
  let largestInit = 0;
  for (const container of spec.get('initContainers').items()) {
    const amount = amountOf(container);
    if (container.get('restartPolicy').value === 'Always') {
      sidecars += amount;
      largestInit = Math.max(largestInit, sidecars);
    } else largestInit = Math.max(largestInit, sidecars + amount);
  }
  const containers = spec
    .get('containers')
    .items()
    .reduce((sum, container) => sum + amountOf(container), 0);
  return Math.max(containers + sidecars, largestInit);
}
