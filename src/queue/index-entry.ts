/** What the index keeps of an object: enough to tell news from old news, and to report a deletion that nobody saw. */
export interface IndexEntry {
  resourceVersion: string
  namespace: string
  name: string
  /** Raw JSON. */
  labelsJson: string
}

/** `<resourceVersion>/<namespace>/<name>/<labels>`: a path segment cannot hold a slash, labels come last. */
export function encodeIndexEntry(entry: IndexEntry): string {
  const labels = entry.labelsJson === '{}' ? '' : entry.labelsJson
  return `${entry.resourceVersion}/${entry.namespace}/${entry.name}/${labels}`
}

export function decodeIndexEntry(text: string): IndexEntry {
  const first = text.indexOf('/')
  const second = text.indexOf('/', first + 1)
  const third = text.indexOf('/', second + 1)
  return {
    resourceVersion: text.slice(0, first),
    namespace: text.slice(first + 1, second),
    name: text.slice(second + 1, third),
    labelsJson: text.slice(third + 1) || '{}',
  }
}

/** How an object is called inside its resource. */
export function nameOf(object: { namespace: string; name: string }): string {
  return `${object.namespace}/${object.name}`
}
