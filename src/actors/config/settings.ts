// Settings: the one declaration of every key.
export interface Settings { readonly placeholder: true }
