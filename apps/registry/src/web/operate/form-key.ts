/** Name of the field with the key of the session, in every form. */
export const FORM_KEY = 'formKey';
