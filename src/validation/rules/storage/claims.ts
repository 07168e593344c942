import { quantityOf } from '../../values/quantities.ts';
import {
  type Field,
  forbidden,
  get,
  getIn,
  hasForm,
  invalid,
  isEmpty,
  isSet,
  items,
  members,
  nameOf,
  needed,
  notEmpty,
  report,
  required,
  text,
} from '../shared/field.ts';
import { dnsLabelRule, dnsSubdomainRule } from '../shared/names.ts';
import { checkLabelMap, checkLabelSelector } from '../shared/selectors.ts';

const SNAPSHOTS = 'snapshot.storage.k8s.io';

/** Checks the template of a claim in an ephemeral volume. It can have labels and annotations, and no other metadata. */
export function checkClaimTemplate(template: Field): void {
  const metadata = get(template, 'metadata');
  for (const member of members(metadata)) {
    if (['labels', 'annotations', 'creationTimestamp'].includes(member.step)) continue;
    if (!isEmpty(member))
      forbidden(member, 'in the template of a claim, whose name is made of the names of Pod and volume');
  }
  checkLabelMap(get(metadata, 'labels'));
  checkClaimSpec(get(template, 'spec'));
}

/** Checks the spec of a PersistentVolumeClaim. */
export function checkClaimSpec(spec: Field): void {
  const modes = get(spec, 'accessModes');
  needed(modes);
  const list = items(modes);
  const single = list.find(({ value }) => value === 'ReadWriteOncePod');
  if (single !== undefined && list.some(({ value }) => value !== single.value)) {
    report(single, 'WrongChoice', `${nameOf(single)} must be the only access mode if it is ReadWriteOncePod`);
  }
  for (const mode of list) if (mode.value === undefined || mode.value === '') required(mode);
  checkLabelSelector(get(spec, 'selector'));
  notEmpty(get(spec, 'volumeMode'));
  const storage = getIn(spec, 'resources', 'requests', 'storage');
  if (!isSet(storage)) required(storage);
  else if ((quantityOf(storage.value) ?? 1) <= 0) invalid(storage, 'must be above 0', { reason: 'BadResource' });
  hasForm(get(spec, 'storageClassName'), dnsSubdomainRule);
  hasForm(get(spec, 'volumeAttributesClassName'), dnsSubdomainRule);
  checkDataSources(spec);
}

function checkDataSources(spec: Field): void {
  const source = get(spec, 'dataSource');
  const ref = get(spec, 'dataSourceRef');
  if (isSet(ref)) checkDataSource(ref);
  if (isSet(source)) {
    if (isSet(ref) || isClaimOrSnapshot(source)) checkDataSource(source);
    else warnOfDroppedSource(source);
  }
  hasForm(get(ref, 'namespace'), dnsLabelRule);
  if (!isSet(source) || !isSet(ref)) return;
  if (!isEmpty(get(ref, 'namespace'))) forbidden(source, 'beside dataSourceRef with a namespace');
  else if (['apiGroup', 'kind', 'name'].some((step) => text(get(source, step)) !== text(get(ref, step)))) {
    report(source, 'WrongChoice', `${nameOf(source)} must be the same as dataSourceRef, or be left out`);
  }
}

function isClaimOrSnapshot(source: Field): boolean {
  const kind = get(source, 'kind').value;
  const group = text(get(source, 'apiGroup')) ?? '';
  return group === '' ? kind === 'PersistentVolumeClaim' : group === SNAPSHOTS && kind === 'VolumeSnapshot';
}

function warnOfDroppedSource(source: Field): void {
  const message = `${nameOf(source)} is neither a PersistentVolumeClaim nor a VolumeSnapshot of ${SNAPSHOTS}; an API server leaves it out`;
  report(source, 'WrongValue', message, { severity: 'warning', hint: 'use dataSourceRef', atKey: true });
}

function checkDataSource(source: Field): void {
  const kind = get(source, 'kind');
  const group = get(source, 'apiGroup');
  hasForm(group, dnsSubdomainRule);
  if (isEmpty(group) && !isEmpty(kind) && kind.value !== 'PersistentVolumeClaim') {
    invalid(kind, 'must be PersistentVolumeClaim without an apiGroup', { hint: 'add the apiGroup of the kind' });
  }
}
