/** Returns an address with this path behind its own, unless that ends with it. */
export function withPath(base: URL, path: string): URL {
  const url = new URL(base)
  const own = url.pathname.replace(/\/+$/, '')
  if (!own.endsWith(path)) url.pathname = own + path
  return url
}
