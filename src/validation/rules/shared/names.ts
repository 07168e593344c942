/*
 * The forms of names in Kubernetes. Each function returns the rule that a text breaks, as the rest of a sentence
 * (`must be ...`), or undefined if the text has the form. No form allows the empty text, unless its comment says so.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
 */

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_1035_LABEL = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED_PART = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const PORT_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;
const ENV_NAME = /^[ -<>-~]+$/;
const C_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER_NAME = /^[-A-Za-z0-9]+$/;
const PERCENT = /^[0-9]+%$/;

/** A DNS label of RFC 1123: the name of a Namespace, a container, a volume. */
export function dnsLabelRule(text: string): string | undefined {
  return text.length <= 63 && DNS_LABEL.test(text)
    ? undefined
    : 'must be 1 to 63 lower-case letters, digits or "-", and begin and end with a letter or digit';
}

/** A DNS label of RFC 1035, which begins with a letter. */
export function dns1035LabelRule(text: string): string | undefined {
  return text.length <= 63 && DNS_1035_LABEL.test(text)
    ? undefined
    : 'must be 1 to 63 lower-case letters, digits or "-", begin with a letter, and end with a letter or digit';
}

/** A DNS subdomain of RFC 1123: the name of most objects. */
export function dnsSubdomainRule(text: string): string | undefined {
  return text.length <= 253 && DNS_SUBDOMAIN.test(text)
    ? undefined
    : 'must be 1 to 253 lower-case letters, digits, "-" or ".", where each part between dots begins and ends with a letter or digit';
}

/** A DNS subdomain that may begin with `*.`, once. */
export function wildcardDomainRule(text: string): string | undefined {
  const rest = text.startsWith('*.') ? text.slice(2) : undefined;
  return rest !== undefined && text.length <= 253 && DNS_SUBDOMAIN.test(rest)
    ? undefined
    : 'must be "*." and a DNS name of lower-case letters, digits, "-" and "."';
}

/** A qualified name: the key of a label or an annotation, the name of a resource. `PREFIX/NAME` or `NAME`. */
export function qualifiedNameRule(text: string): string | undefined {
  const slash = text.indexOf('/');
  const name = text.slice(slash + 1);
  if (slash >= 0 && dnsSubdomainRule(text.slice(0, slash)) !== undefined) {
    return 'must have a DNS name of at most 253 characters before the "/"';
  }
  return name.length <= 63 && QUALIFIED_PART.test(name)
    ? undefined
    : 'must be 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit; a DNS name and "/" may stand before it';
}

/** A qualified name with a prefix: `example.com/name`. */
export function domainPrefixedNameRule(text: string): string | undefined {
  return qualifiedNameRule(text) ?? (text.includes('/') ? undefined : 'must be a DNS name, "/" and a name');
}

const HTTP_PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** A path with a prefix: `example.com/a/b`. */
export function domainPrefixedPathRule(text: string): string | undefined {
  const slash = text.indexOf('/');
  const isGood =
    slash > 0 && dnsSubdomainRule(text.slice(0, slash)) === undefined && HTTP_PATH.test(text.slice(slash + 1));
  return isGood ? undefined : 'must be a DNS name, "/" and a path';
}

/** The value of a label; may be empty. */
export function labelValueRule(text: string): string | undefined {
  return text === '' || (text.length <= 63 && QUALIFIED_PART.test(text))
    ? undefined
    : 'must be empty or 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit';
}

/** The name of a port (IANA service name). */
export function portNameRule(text: string): string | undefined {
  return text.length <= 15 && PORT_NAME.test(text) && /[a-z]/.test(text)
    ? undefined
    : 'must be 1 to 15 lower-case letters, digits or single "-" between them, with at least one letter';
}

/** A number of a port. */
export function portNumberRule(port: number): string | undefined {
  return port >= 1 && port <= 65535 ? undefined : 'must be 1 to 65535';
}

/** A key of the data of a ConfigMap or Secret. */
export function configKeyRule(text: string): string | undefined {
  if (text.length > 253 || !CONFIG_KEY.test(text)) return 'must be 1 to 253 letters, digits, "-", "_" or "."';
  if (text === '.' || text === '..') return 'must not be "." or ".."';
  return text.startsWith('..') ? 'must not begin with ".."' : undefined;
}

/** The name of an environment variable. */
export function envNameRule(text: string): string | undefined {
  return ENV_NAME.test(text) ? undefined : 'must be printable ASCII characters without "="';
}

/** An identifier of the language C. */
export function cIdentifierRule(text: string): string | undefined {
  return C_IDENTIFIER.test(text) ? undefined : 'must be letters, digits or "_", and not begin with a digit';
}

/** The name of an HTTP header, as Kubernetes allows it. */
export function headerNameRule(text: string): string | undefined {
  return HEADER_NAME.test(text) ? undefined : 'must be letters, digits or "-"';
}

/** A name that is one segment of a URL's path: of a Role, a ClusterRole and some others. */
export function pathSegmentRule(text: string): string | undefined {
  if (text === '.' || text === '..') return 'must not be "." or ".."';
  return text.includes('/') || text.includes('%') ? 'must not contain "/" or "%"' : undefined;
}

/** A percentage: `25%`. */
export function percentRule(text: string): string | undefined {
  return PERCENT.test(text) ? undefined : 'must be a whole number or a percentage like "25%"';
}

/** A path on a machine that does not leave its folder: relative, without a part `..`. */
export function descendingPathRule(path: string): string | undefined {
  return path.startsWith('/') ? 'must be a relative path' : noBackstepsRule(path);
}

/** A path without a part `..`. */
export function noBackstepsRule(path: string): string | undefined {
  return path.includes('..') && path.split('/').includes('..') ? 'must not contain a part ".."' : undefined;
}

/** A path inside a volume: {@link descendingPathRule}, and it does not begin with `..`, which is reserved. */
export function reservedPathRule(path: string): string | undefined {
  return descendingPathRule(path) ?? (path.startsWith('..') ? 'must not begin with ".."' : undefined);
}

/** The name of a CSI driver. */
export function csiDriverRule(text: string): string | undefined {
  return text.length <= 63 && dnsSubdomainRule(text.toLowerCase()) === undefined
    ? undefined
    : 'must be a DNS name of at most 63 characters';
}
