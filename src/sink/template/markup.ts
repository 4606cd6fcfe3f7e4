/** How plain text is written in what a sink shows. Without them text stays as it is. Functions must not need `this`. */
export interface Markup {
  /** Writes plain text so that nothing in it has a meaning. */
  escape?(text: string): string
  /** Writes plain text as code, so that nothing can break out of it; for the filter `code`. Default: as `escape` does. */
  code?(text: string): string
}
