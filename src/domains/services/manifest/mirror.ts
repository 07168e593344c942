import { type ServiceMirrorSpec, validate } from '../../../../generated/service-mirror.js';
import { decoder } from '../../../manifest/kinds/reading.ts';
import { readClusterChoice, readSelector, sortedUnique } from '../../../manifest/kinds/selectors.ts';
import { type FieldProblem, fieldError } from '../../../manifest/problem.ts';
import type { MirrorFrom, ServiceMirror } from '../model/mirror.ts';

/** Decodes a `ServiceMirror`. */
export const readMirror = decoder(validate, ({ metadata, spec }, problems): ServiceMirror | undefined => {
  const from = readFrom(spec, problems);
  const to = readClusterChoice(spec.to, ['spec', 'to'], problems);
  const serviceSelector = readSelector(spec.serviceSelector ?? EXPORTED, ['spec', 'serviceSelector'], problems);
  if (from === undefined) return undefined;
  const { include = EVERY, exclude = SYSTEM } = spec.namespaces ?? {};
  const { labels = [], annotations = [] } = spec.copy ?? {};
  return {
    name: metadata.name,
    from,
    to,
    serviceSelector,
    namespaces: { include: sortedUnique(include), exclude: sortedUnique(exclude) },
    copy: { labels: sortedUnique(labels), annotations: sortedUnique(annotations) },
  };
});

const EVERY = ['*'];
/** Namespaces of the cluster itself: what lies in them is of no use elsewhere. */
const SYSTEM = ['kube-*'];

/** The Services that a mirror without a selector selects. */
const EXPORTED = { matchLabels: { 'fleetrelay.dev/service-export': 'true' } };

/** Rules about Services of clusters, and what they are about. */
const OF_CLUSTERS = [
  ['serviceSelector', 'labels'],
  ['namespaces', 'Namespaces of their own'],
  ['copy', 'labels and annotations'],
] as const;

const FROM = ['spec', 'from'];

function readFrom({ from, ...rules }: ServiceMirrorSpec, problems: FieldProblem[]): MirrorFrom | undefined {
  const { meshes, namespace, ...choice } = from;
  if (meshes === undefined) {
    if (namespace !== undefined) {
      const message = 'spec.from.namespace is for meshes only: mirrored Services of clusters keep their namespace';
      problems.push(fieldError('WrongChoice', [...FROM, 'namespace'], message, 'remove it'));
    }
    return { type: 'clusters', clusters: readClusterChoice(choice, FROM, problems) };
  }
  if (Object.keys(choice).length > 0) {
    const message = 'spec.from has meshes and also clusters (names or selector)';
    problems.push(fieldError('WrongChoice', FROM, message, 'write a ServiceMirror for each'));
  }
  for (const [rule, missing] of OF_CLUSTERS) {
    if (rules[rule] === undefined) continue;
    const message = `spec.${rule} is for Services of clusters only: services of meshes have no ${missing}`;
    problems.push(fieldError('WrongChoice', ['spec', rule], message, 'remove it'));
  }
  if (namespace === undefined) {
    const hint = 'the mirrored services of meshes lie in it';
    problems.push(fieldError('MissingField', FROM, 'spec.from.namespace is missing', hint));
    return undefined;
  }
  return { type: 'meshes', meshes: sortedUnique(meshes), namespace };
}
