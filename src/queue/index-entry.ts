/** What the index keeps of an object: enough to tell news from old news, and to report a deletion that nobody saw. */
export interface IndexEntry {
  resourceVersion: string
  namespace: string
  name: string
  /** Raw JSON. */
  labelsJson: string
}

/**
 * `<namespace>/<name>/<labels>\n<resourceVersion>`: path segments cannot hold a slash; the version comes behind the last
 * line break, because an extension API server may put anything else in it.
 */
export function encodeIndexEntry(entry: IndexEntry): string {
  const labels = entry.labelsJson === '{}' ? '' : entry.labelsJson
  return `${entry.namespace}/${entry.name}/${labels}\n${entry.resourceVersion}`
}

export function decodeIndexEntry(text: string): IndexEntry {
  const first = text.indexOf('/')
  const second = text.indexOf('/', first + 1)
  const end = text.lastIndexOf('\n')
  return {
    namespace: text.slice(0, first),
    name: text.slice(first + 1, second),
    labelsJson: text.slice(second + 1, end) || '{}',
    resourceVersion: text.slice(end + 1),
  }
}

/** How an object is called inside its resource. */
export function nameOf(object: { namespace: string; name: string }): string {
  return `${object.namespace}/${object.name}`
}
