import { quantityOf } from '../../values/quantities.ts';
import type { Field } from '../shared/field.ts';
import { dnsLabelRule, dnsSubdomainRule } from '../shared/names.ts';
import { checkLabelMap, checkLabelSelector } from '../shared/selectors.ts';

const SNAPSHOTS = 'snapshot.storage.k8s.io';

/** Checks the template of a claim in an ephemeral volume. It can have labels and annotations, and no other metadata. */
export function checkClaimTemplate(template: Field): void {
  const metadata = template.get('metadata');
  for (const member of metadata.members()) {
    if (['labels', 'annotations', 'creationTimestamp'].includes(member.step)) continue;
    if (!member.isEmpty)
      member.forbidden('in the template of a claim, whose name is made of the names of Pod and volume');
  }
  checkLabelMap(metadata.get('labels'));
  checkClaimSpec(template.get('spec'));
}

/** Checks the spec of a PersistentVolumeClaim. */
export function checkClaimSpec(spec: Field): void {
  const modes = spec.get('accessModes');
  modes.needed();
  const list = modes.items();
  const single = list.find(({ value }) => value === 'ReadWriteOncePod');
  if (single !== undefined && list.some(({ value }) => value !== single.value)) {
    single.report('WrongChoice', `${single.name} must be the only access mode if it is ReadWriteOncePod`);
  }
  for (const mode of list) if (mode.value === undefined || mode.value === '') mode.required();
  checkLabelSelector(spec.get('selector'));
  spec.get('volumeMode').notEmpty();
  const storage = spec.getIn('resources', 'requests', 'storage');
  if (!storage.isSet) storage.required();
  else if ((quantityOf(storage.value) ?? 1) <= 0) storage.invalid('must be above 0', { reason: 'BadResource' });
  spec.get('storageClassName').hasForm(dnsSubdomainRule);
  spec.get('volumeAttributesClassName').hasForm(dnsSubdomainRule);
  checkDataSources(spec);
}

function checkDataSources(spec: Field): void {
  const source = spec.get('dataSource');
  const ref = spec.get('dataSourceRef');
  if (ref.isSet) checkDataSource(ref);
  if (source.isSet) {
    if (ref.isSet || isClaimOrSnapshot(source)) checkDataSource(source);
    else warnOfDroppedSource(source);
  }
  ref.get('namespace').hasForm(dnsLabelRule);
  if (!source.isSet || !ref.isSet) return;
  if (!ref.get('namespace').isEmpty) source.forbidden('beside dataSourceRef with a namespace');
  else if (['apiGroup', 'kind', 'name'].some((step) => source.get(step).text !== ref.get(step).text)) {
    source.report('WrongChoice', `${source.name} must be the same as dataSourceRef, or be left out`);
  }
}

function isClaimOrSnapshot(source: Field): boolean {
  const kind = source.get('kind').value;
  const group = source.get('apiGroup').text ?? '';
  return group === '' ? kind === 'PersistentVolumeClaim' : group === SNAPSHOTS && kind === 'VolumeSnapshot';
}

function warnOfDroppedSource(source: Field): void {
  const message = `${source.name} is neither a PersistentVolumeClaim nor a VolumeSnapshot of ${SNAPSHOTS}; an API server leaves it out`;
  source.report('WrongValue', message, { severity: 'warning', hint: 'use dataSourceRef', atKey: true });
}

function checkDataSource(source: Field): void {
  const kind = source.get('kind');
  const group = source.get('apiGroup');
  group.hasForm(dnsSubdomainRule);
  if (group.isEmpty && !kind.isEmpty && kind.value !== 'PersistentVolumeClaim') {
    kind.invalid('must be PersistentVolumeClaim without an apiGroup', { hint: 'add the apiGroup of the kind' });
  }
}
