/** Where commands ask unless they are told otherwise: the API of a server with its usual ports, on this machine. */
export const DEFAULT_API = 'http://127.0.0.1:9980';
