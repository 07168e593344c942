import { type ServiceMirrorSpec, validate } from '../../../generated/service-mirror.js';
import type { MirrorFrom, ServiceMirror } from '../../model/desired.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { decoder } from './reading.ts';
import { readClusterChoice, readSelector, sortedUnique } from './selectors.ts';

/** Decodes a `ServiceMirror`. */
export const readMirror = decoder(validate, ({ metadata, spec }, problems): ServiceMirror | undefined => {
  const from = readFrom(spec, problems);
  const to = readClusterChoice(spec.to, ['spec', 'to'], problems);
  const serviceSelector = readSelector(spec.serviceSelector ?? EXPORTED, ['spec', 'serviceSelector'], problems);
  return from === undefined ? undefined : { name: metadata.name, from, to, serviceSelector };
});

/** The Services that a mirror without a selector selects. */
const EXPORTED = { matchLabels: { 'fleetrelay.dev/service-export': 'true' } };

const FROM = ['spec', 'from'];

function readFrom({ from, serviceSelector }: ServiceMirrorSpec, problems: FieldProblem[]): MirrorFrom | undefined {
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
  if (serviceSelector !== undefined) {
    const message = 'spec.serviceSelector is for Services of clusters only: services of meshes have no labels';
    problems.push(fieldError('WrongChoice', ['spec', 'serviceSelector'], message, 'remove it'));
  }
  if (namespace === undefined) {
    const hint = 'the mirrored services of meshes lie in it';
    problems.push(fieldError('MissingField', FROM, 'spec.from.namespace is missing', hint));
    return undefined;
  }
  return { type: 'meshes', meshes: sortedUnique(meshes), namespace };
}
