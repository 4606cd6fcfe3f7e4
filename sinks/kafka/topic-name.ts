/** Why Kafka would refuse this name, or undefined. */
export function topicNameFault(name: string): string | undefined {
  if (name === '') return 'it is empty'
  if (name === '.' || name === '..') return 'it is "." or ".."'
  if (name.length > 249) return `it has ${name.length} characters, and 249 are the most`
  if (/[^a-zA-Z0-9._-]/.test(name)) return 'it has other characters than letters, digits, ".", "_" and "-"'
  return undefined
}
