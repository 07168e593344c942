import { eitherOf, type Field, get, inRange, invalid, isSet, nameOf, report, text, textItems } from './field.ts';
import { dns1035LabelRule, dnsSubdomainRule } from './names.ts';

/** Checks how an API server reaches a webhook: exactly one of `url` and `service`. */
export function checkWebhookClient(client: Field): void {
  const url = get(client, 'url');
  const service = get(client, 'service');
  if (!eitherOf(client, url, service)) return;
  if (isSet(url)) checkUrl(url);
  else checkServiceReference(service);
}

function checkUrl(field: Field): void {
  const found = text(field);
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
  if (broken !== undefined) report(field, 'BadAddress', `${nameOf(field)} ${broken}`);
}

/** Checks a reference to a Service by `namespace`, `name`, `port` and `path`. */
function checkServiceReference(service: Field): void {
  inRange(get(service, 'port'), 1, 65_535);
  const path = get(service, 'path');
  const found = text(path) ?? '';
  if (found === '' || found === '/') return;
  if (!found.startsWith('/')) {
    invalid(path, 'must begin with "/"', { reason: 'BadPath' });
    return;
  }
  const bad = found
    .slice(1)
    .replace(/\/$/, '')
    .split('/')
    .find((part) => dnsSubdomainRule(part) !== undefined);
  if (bad !== undefined) {
    invalid(path, 'must have lower-case letters, digits, "-" or "." between its "/"', { reason: 'BadPath' });
  }
}

/** Checks the versions of the reviews that a webhook understands; `v1` or `v1beta1` must be among them. */
export function checkReviewVersions(versions: Field): void {
  if (!isSet(versions)) return;
  const all = textItems(versions);
  if (all.length === 0) return;
  const seen = new Set<string>();
  for (const version of all) {
    const found = text(version);
    if (found === undefined) return;
    const broken = dns1035LabelRule(found);
    if (seen.has(found)) invalid(version, 'must not be the same as in an entry above', { reason: 'DuplicateValue' });
    else if (broken !== undefined) invalid(version, broken, { reason: 'BadName' });
    seen.add(found);
  }
  if (!seen.has('v1') && !seen.has('v1beta1')) {
    report(versions, 'WrongValue', `${nameOf(versions)} must hold v1 or v1beta1`);
  }
}
