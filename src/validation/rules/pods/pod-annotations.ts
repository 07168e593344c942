import type { Field } from '../shared/field.ts';
import { noBackstepsRule } from '../shared/names.ts';
import { allContainers } from './containers.ts';

const MIRROR = 'kubernetes.io/config.mirror';
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';

/** Checks the annotations that an API server interprets, of a Pod or a template of Pods. */
export function checkPodAnnotations(pod: Field, isPod: boolean): void {
  const annotations = pod.getIn('metadata', 'annotations').members();
  if (annotations.length === 0) return;
  const spec = pod.get('spec');
  for (const annotation of annotations) {
    const { step: key } = annotation;
    const value = annotation.text;
    if (value === undefined) continue;
    if (key === MIRROR) {
      if (spec.get('nodeName').word === undefined) annotation.invalid('must not be set without spec.nodeName');
    } else if (key === DELETION_COST) {
      const isNumber = /^(0|-?[1-9]\d*|-0+\d*)$/.test(value) && Math.abs(Number(value) + 0.5) < 2 ** 31;
      if (!isNumber) annotation.invalid('must be a whole number of 32 bits');
    } else if (key === SECCOMP_POD) checkSeccomp(annotation, value, spec.get('securityContext'));
    else if (key.startsWith(SECCOMP_CONTAINER)) {
      const container = containerOf(spec, key.slice(SECCOMP_CONTAINER.length));
      checkSeccomp(annotation, value, container === undefined ? undefined : container.get('securityContext'));
    } else if (key.startsWith(APP_ARMOR)) checkAppArmor(annotation, spec, key.slice(APP_ARMOR.length), isPod);
  }
}

function containerOf(spec: Field, name: string): Field | undefined {
  return allContainers(spec).find((container) => container.get('name').text === name);
}

function checkSeccomp(annotation: Field, value: string, context: Field | undefined): void {
  const local = value.startsWith('localhost/') ? value.slice('localhost/'.length) : undefined;
  const isKnown = ['runtime/default', 'docker/default', 'unconfined'].includes(value);
  if (!isKnown && local === undefined) annotation.invalid('must be runtime/default, unconfined or localhost/PATH');
  if (local !== undefined && (local.startsWith('/') || noBackstepsRule(local) !== undefined)) {
    annotation.invalid('must have a relative path without a part ".."', { reason: 'BadPath' });
  }
  if (context === undefined) return;
  const wanted = value === 'unconfined' ? 'Unconfined' : local === undefined ? 'RuntimeDefault' : 'Localhost';
  compareProfile(annotation, context.get('seccompProfile'), wanted, local);
}

function checkAppArmor(annotation: Field, spec: Field, name: string, isPod: boolean): void {
  const value = annotation.text ?? '';
  const container = containerOf(spec, name);
  if (container === undefined) {
    const message = `the key of ${annotation.name} must end with the name of a container of the Pod`;
    annotation.report('UnknownReference', message, { atKey: true });
  }
  const local = value.startsWith('localhost/') ? value.slice('localhost/'.length) : undefined;
  if (!['', 'runtime/default', 'unconfined'].includes(value) && local === undefined) {
    annotation.invalid('must be runtime/default, unconfined or localhost/NAME');
  }
  if (container === undefined || spec.getIn('os', 'name').value === 'windows') return;
  const own = container.getIn('securityContext', 'appArmorProfile');
  // In a Pod, an API server makes the annotation the profile of the container.
  const profile = own.isSet || isPod ? own : spec.getIn('securityContext', 'appArmorProfile');
  const wanted = value === 'unconfined' ? 'Unconfined' : local === undefined ? 'RuntimeDefault' : 'Localhost';
  compareProfile(annotation, profile, wanted, local);
}

/** An annotation and the field that replaces it must say the same. */
function compareProfile(annotation: Field, profile: Field, wanted: string, local: string | undefined): void {
  const type = profile.get('type');
  if (type.word === undefined) {
    const message = `the annotation ${annotation.step} is deprecated`;
    const hint = `write securityContext.${profile.step}`;
    annotation.report('DeprecatedField', message, { severity: 'warning', atKey: true, hint });
    return;
  }
  const isSame = type.value === wanted && (local === undefined || profile.get('localhostProfile').text === local);
  if (!isSame) annotation.invalid(`must say the same as ${profile.name}`);
}
