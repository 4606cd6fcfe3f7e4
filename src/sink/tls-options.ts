/** PEM texts. `ca` stands in place of the authorities that Node knows. */
export interface TlsOptions {
  ca?: string | undefined
  cert?: string | undefined
  key?: string | undefined
  /** The name that the receiver's certificate must have, where it is not the URL's. */
  servername?: string | undefined
}
