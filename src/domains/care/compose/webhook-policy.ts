import { type Matcher, matchers } from '../../../model/objects/webhooks/matchers.ts';
import {
  LONGEST_LEASE_TIMEOUT_SECONDS,
  LONGEST_TIMEOUT_SECONDS,
  WARNING_ANNOTATION,
} from '../../../model/objects/webhooks/problematic.ts';

/**
 * An expression in CEL that is true for the changes of a webhook configuration that the remediator makes: see
 * `remediateConfiguration`. Every webhook stays, and calls what it called for the same requests, but for what the remediator
 * leaves out; so a stolen account cannot switch admission off. In its own configuration the agent sets trust and failure policy.
 *
 * @param own the name of the agent's own configuration
 */
export function webhooksStay(own: string): string {
  const every = [
    'o.name == w.name',
    ...['clientConfig.url', 'clientConfig.service', 'rules', 'matchConditions'].map(same),
    ...['matchPolicy', 'sideEffects', 'admissionReviewVersions', 'reinvocationPolicy'].map(same),
  ].join(' && ');
  const asOwn = ['timeoutSeconds', 'namespaceSelector', 'objectSelector'].map(same).join(' && ');
  const mended = [
    same('clientConfig.caBundle'),
    `(${same('failurePolicy')} || (w.failurePolicy == 'Ignore' && ${judges(unlabelled)}))`,
    `(${same('timeoutSeconds')} || (w.timeoutSeconds < o.timeoutSeconds && (${timeouts()})))`,
    leavesOut('namespaceSelector', ({ namespaceLabels }) => namespaceLabels),
    leavesOut('objectSelector', ({ objectLabels }) => objectLabels),
  ].join(' && ');
  const stays = `${every} && (variables.name == '${own}' ? (${asOwn}) : (${mended}))`;
  // Webhooks of a configuration have different names, so the same number of webhooks that were all there before are the same webhooks.
  const all = `object.webhooks.size() == oldObject.webhooks.size() && object.webhooks.all(w, oldObject.webhooks.exists(o, ${stays}))`;
  const webhooks = `(has(oldObject.webhooks) ? has(object.webhooks) && ${all} : !has(object.webhooks))`;
  return `(request.operation == 'UPDATE' && ${[...metadataStays(), webhooks].join(' && ')})`;
}

/** An owner that does not exist has an object removed, and other annotations than ours tell other programs what to do. */
function metadataStays(): readonly string[] {
  const [now, before] = ['object', 'oldObject'];
  const kept = (a: string, b: string): string => {
    const [here, there] = [`${a}.metadata.annotations`, `${b}.metadata.annotations`];
    return `(!has(${here}) || ${here}.all(k, k == '${WARNING_ANNOTATION}' || (has(${there}) && k in ${there} && ${here}[k] == ${there}[k])))`;
  };
  return [
    ...['labels', 'ownerReferences', 'finalizers'].map((field) => sameIn(now, before, `metadata.${field}`)),
    kept(now, before),
    kept(before, now),
  ];
}

/** Whether the field is the same in the webhook `w` and in the one before, `o`. */
function same(path: string): string {
  return sameIn('w', 'o', path);
}

function sameIn(now: string, before: string, path: string): string {
  return `(${has(now, path)} ? ${has(before, path)} && ${now}.${path} == ${before}.${path} : !(${has(before, path)}))`;
}

/** Whether an object has a field, whose parents may be missing. */
function has(of: string, path: string): string {
  const steps = path.split('.');
  return steps.map((_, index) => `has(${[of, ...steps.slice(0, index + 1)].join('.')})`).join(' && ');
}

function timeouts(): string {
  const leases = matchers.filter(({ resource }) => resource === 'leases');
  return `w.timeoutSeconds == ${LONGEST_TIMEOUT_SECONDS} || (w.timeoutSeconds == ${LONGEST_LEASE_TIMEOUT_SECONDS} && ${judges(leases)})`;
}

/** What a cluster needs whatever its labels are: a webhook that judges it must not make requests fail. */
const unlabelled = matchers.filter(
  ({ namespaceLabels, objectLabels }) => (namespaceLabels ?? objectLabels) === undefined,
);

/** Whether a webhook judges one of these resources, or a subresource, by its rules alone. */
function judges(some: readonly Matcher[]): string {
  const resources = [...new Set(some.map(({ resource }) => resource))].map((resource) => `'${resource}'`);
  return `w.rules.exists(r, r.resources.exists(x, x.split('/')[0] in ['*', ${resources.join(', ')}]))`;
}

/** Whether a selector is the one before, and leaves out at most what the cluster needs of the resources that the webhook judges. */
function leavesOut(selector: string, labelsOf: (matcher: Matcher) => Matcher['objectLabels']): string {
  const byLabels = Map.groupBy(
    matchers.filter((matcher) => labelsOf(matcher) !== undefined),
    (matcher) => JSON.stringify(labelsOf(matcher)),
  );
  const allowed = [...byLabels.values()].map((some) => {
    const labels = Object.entries(some[0] === undefined ? {} : (labelsOf(some[0]) ?? {}));
    const pairs = labels.map(([key, value]) => `'${key}=${value}'`).join(', ');
    return `((e.key + '=' + e.values[0]) in [${pairs}] && ${judges(some)})`;
  });
  const path = `${selector}.matchExpressions`;
  const [now, before] = [has('w', path), has('o', path)];
  const stays = `(!(${before}) || (${now} && o.${path}.all(e, w.${path}.exists(n, n == e))))`;
  const isNew = `e.operator == 'NotIn' && e.values.size() == 1 && (${allowed.join(' || ')})`;
  const adds = `(!(${now}) || w.${path}.all(e, (${before} && o.${path}.exists(p, p == e)) || (${isNew})))`;
  return `${same(`${selector}.matchLabels`)} && ${stays} && ${adds}`;
}
