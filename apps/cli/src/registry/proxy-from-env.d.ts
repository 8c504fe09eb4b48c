declare module 'proxy-from-env' {
  /** Returns the proxy that the environment configures for a URL; empty if there is none. */
  export function getProxyForUrl(url: string | URL): string;
}
