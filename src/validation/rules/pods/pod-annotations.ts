import { type Field, get, getIn, invalid, isSet, members, nameOf, report, text, word } from '../shared/field.ts';
import { noBackstepsRule } from '../shared/names.ts';
import { allContainers } from './containers.ts';

const MIRROR = 'kubernetes.io/config.mirror';
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';

/** Checks the annotations that an API server interprets, of a Pod or a template of Pods. */
export function checkPodAnnotations(pod: Field, isPod: boolean): void {
  const annotations = members(getIn(pod, 'metadata', 'annotations'));
  if (annotations.length === 0) return;
  const spec = get(pod, 'spec');
  for (const annotation of annotations) {
    const { step: key } = annotation;
    const value = text(annotation);
    if (value === undefined) continue;
    if (key === MIRROR) {
      if (word(get(spec, 'nodeName')) === undefined) invalid(annotation, 'must not be set without spec.nodeName');
    } else if (key === DELETION_COST) {
      const isNumber = /^(0|-?[1-9]\d*|-0+\d*)$/.test(value) && Math.abs(Number(value) + 0.5) < 2 ** 31;
      if (!isNumber) invalid(annotation, 'must be a whole number of 32 bits');
    } else if (key === SECCOMP_POD) checkSeccomp(annotation, value, get(spec, 'securityContext'));
    else if (key.startsWith(SECCOMP_CONTAINER)) {
      const container = containerOf(spec, key.slice(SECCOMP_CONTAINER.length));
      checkSeccomp(annotation, value, container === undefined ? undefined : get(container, 'securityContext'));
    } else if (key.startsWith(APP_ARMOR)) checkAppArmor(annotation, spec, key.slice(APP_ARMOR.length), isPod);
  }
}

function containerOf(spec: Field, name: string): Field | undefined {
  return allContainers(spec).find((container) => text(get(container, 'name')) === name);
}

function checkSeccomp(annotation: Field, value: string, context: Field | undefined): void {
  const local = value.startsWith('localhost/') ? value.slice('localhost/'.length) : undefined;
  const isKnown = ['runtime/default', 'docker/default', 'unconfined'].includes(value);
  if (!isKnown && local === undefined) invalid(annotation, 'must be runtime/default, unconfined or localhost/PATH');
  if (local !== undefined && (local.startsWith('/') || noBackstepsRule(local) !== undefined)) {
    invalid(annotation, 'must have a relative path without a part ".."', { reason: 'BadPath' });
  }
  if (context === undefined) return;
  const wanted = value === 'unconfined' ? 'Unconfined' : local === undefined ? 'RuntimeDefault' : 'Localhost';
  compareProfile(annotation, get(context, 'seccompProfile'), wanted, local);
}

function checkAppArmor(annotation: Field, spec: Field, name: string, isPod: boolean): void {
  const value = text(annotation) ?? '';
  const container = containerOf(spec, name);
  if (container === undefined) {
    const message = `the key of ${nameOf(annotation)} must end with the name of a container of the Pod`;
    report(annotation, 'UnknownReference', message, { atKey: true });
  }
  const local = value.startsWith('localhost/') ? value.slice('localhost/'.length) : undefined;
  if (!['', 'runtime/default', 'unconfined'].includes(value) && local === undefined) {
    invalid(annotation, 'must be runtime/default, unconfined or localhost/NAME');
  }
  if (container === undefined || getIn(spec, 'os', 'name').value === 'windows') return;
  const own = getIn(container, 'securityContext', 'appArmorProfile');
  // In a Pod, an API server makes the annotation the profile of the container.
  const profile = isSet(own) || isPod ? own : getIn(spec, 'securityContext', 'appArmorProfile');
  const wanted = value === 'unconfined' ? 'Unconfined' : local === undefined ? 'RuntimeDefault' : 'Localhost';
  compareProfile(annotation, profile, wanted, local);
}

/** An annotation and the field that replaces it must say the same. */
function compareProfile(annotation: Field, profile: Field, wanted: string, local: string | undefined): void {
  const type = get(profile, 'type');
  if (word(type) === undefined) {
    const message = `the annotation ${annotation.step} is deprecated`;
    const hint = `write securityContext.${profile.step}`;
    report(annotation, 'DeprecatedField', message, { severity: 'warning', atKey: true, hint });
    return;
  }
  const isSame = type.value === wanted && (local === undefined || text(get(profile, 'localhostProfile')) === local);
  if (!isSame) invalid(annotation, `must say the same as ${nameOf(profile)}`);
}
