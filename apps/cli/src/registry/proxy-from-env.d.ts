declare module 'proxy-from-env' {
  /** The proxy that the environment names for a URL; empty where there is none. */
  export function getProxyForUrl(url: string | URL): string;
}
