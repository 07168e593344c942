import type { Field } from './field.ts';
import { dns1035LabelRule, dnsSubdomainRule } from './names.ts';

/** Checks how an API server reaches a webhook: exactly one of `url` and `service`. */
export function checkWebhookClient(client: Field): void {
  const url = client.get('url');
  const service = client.get('service');
  if (!client.eitherOf(url, service)) return;
  if (url.isSet) checkUrl(url);
  else checkServiceReference(service);
}

function checkUrl(field: Field): void {
  const found = field.text;
  if (found === undefined) return;
  const url = URL.canParse(found) ? new URL(found) : undefined;
  const broken =
    url?.protocol !== 'https:'
      ? 'must be an https URL, like https://host/path'
      : url.username !== '' || url.password !== ''
        ? 'must not hold the name of a user'
        : found.includes('?') || found.includes('#')
          ? 'must not have a query or a fragment'
          : undefined;
  if (broken !== undefined) field.report('BadAddress', `${field.name} ${broken}`);
}

/** Checks a reference to a Service by `namespace`, `name`, `port` and `path`. */
function checkServiceReference(service: Field): void {
  service.get('port').inRange(1, 65_535);
  const path = service.get('path');
  const found = path.text ?? '';
  if (found === '' || found === '/') return;
  if (!found.startsWith('/')) {
    path.invalid('must begin with "/"', { reason: 'BadPath' });
    return;
  }
  const bad = found
    .slice(1)
    .replace(/\/$/, '')
    .split('/')
    .find((part) => dnsSubdomainRule(part) !== undefined);
  if (bad !== undefined) {
    path.invalid('must have lower-case letters, digits, "-" or "." between its "/"', { reason: 'BadPath' });
  }
}

/** Checks the versions of the reviews that a webhook understands; `v1` or `v1beta1` must be among them. */
export function checkReviewVersions(versions: Field): void {
  if (!versions.isSet) return;
  const all = versions.textItems();
  if (all.length === 0) return;
  const seen = new Set<string>();
  for (const version of all) {
    const found = version.text;
    if (found === undefined) return;
    const broken = dns1035LabelRule(found);
    if (seen.has(found)) version.invalid('must not be the same as in an entry above', { reason: 'DuplicateValue' });
    else if (broken !== undefined) version.invalid(broken, { reason: 'BadName' });
    seen.add(found);
  }
  if (!seen.has('v1') && !seen.has('v1beta1')) {
    versions.report('WrongValue', `${versions.name} must hold v1 or v1beta1`);
  }
}
