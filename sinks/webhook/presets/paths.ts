/** Returns an address with this path behind its own, unless that ends with it. */
export function withPath(base: URL, path: string): URL {
  const url = new URL(base)
  const own = withoutSlashes(url.pathname)
  if (!own.endsWith(path)) url.pathname = own + path
  return url
}

/** Omits slashes at the end of a path. */
export function withoutSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}
